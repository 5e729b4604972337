"""Logins, sessions and two-factor authentication: what clients know as `token`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ...errors import LoggedOut
from ...http.csrf import device_cookie
from ...http.fetch_metadata import require_no_part
from ...http.params import MAX_ID, MAX_MAIL, RawRequest
from ...model import Account, Caller, Credentials, Session, Viewer
from ...render.view import DisplayOptions
from ...table import schemas
from ...table.answers import Answer, JsonObject, NewSession
from ...table.context import ParseContext
from ...table.fields import NO_FIELDS, ONLY_TRUE, Fields, FieldValues, Given, Shapes, Text
from ...table.rows import Declared
from ...table.who import ANYBODY, PERSON
from ..noun import Accounts
from ..rules import identities, log_ins, reauthentication, two_factor
from ..rules.changes import ask_for_codes, new_step
from ..rules.devices import KNOWN_SECONDS
from ..rules.passwords import MAX_PASSWORD_CHARACTERS
from ..rules.reauthentication import OwnerProof
from .flow_cookie import kept

operation = Declared[Accounts]("accounts")

# Of an authenticator; a recovery code is longer, and is taken where one logs in.
CODE_CHARACTERS = 6
MAX_CODE_CHARACTERS = 32
MAX_SECRET_CHARACTERS = 128
# The token of something that works once: a link in an email, or the ticket of a login by another
# service.
MAX_LINK_TOKEN_CHARACTERS = 1024


def described(display: DisplayOptions, account: Account) -> dict[str, object]:
    """An account under the names of Waline; no secret is in it."""
    return {
        "objectId": account.id,
        "email": account.mail,
        "display_name": account.nick,
        "url": account.link,
        "type": account.role,
        "label": account.label,
        "avatar": display.avatar_of(account),
    }


def profile(accounts: Accounts, account: Account, credentials: Credentials) -> dict[str, object]:
    """An account as its owner sees it, with what other services know them by."""
    by_others = {name: credentials.identities.get(name) for name in accounts.providers.known()}
    # Waline sends the secret here; its clients test whether there is one.
    return (
        described(accounts.display, account)
        | {"2fa": "on" if credentials.totp else None}
        | by_others
    )


# Proof that a request comes from the account's owner, not from somebody who found a token.
PROOF = (
    Text("current_password", "The account's password, as proof", MAX_PASSWORD_CHARACTERS),
    Text("current_code", "A two-factor code, as proof", MAX_CODE_CHARACTERS),
)


def proof_of(values: FieldValues) -> OwnerProof:
    return OwnerProof(values["current_password"], values["current_code"])


@operation("token", "GET", "/token", NO_FIELDS, ANYBODY, schemas.WHO)
async def show(accounts: Accounts, parsed: None, caller: Caller) -> JsonObject:
    """Clients query this once per page load; an empty object means no login."""
    viewer = caller.viewer
    stored = await accounts.store.by_id(viewer.account.id) if viewer.account else None
    if stored is None:
        return {}
    return profile(accounts, stored.account, stored.credentials)


@dataclass(frozen=True, slots=True)
class LogIn:
    mail: str
    password: str
    code: str
    # The ticket of a login by another service, in place of email and password, and the secret in
    # the cookie of the browser that started it.
    ticket: str = ""
    proof: str = ""
    # What identifies a browser of the account; what our page does with the session.
    device: str = ""
    is_remembered: bool = False
    is_handed: bool = False

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "LogIn":
        ticket = values["ticket"]
        proof = kept(context.providers.targets, request.headers) if ticket else ""
        return cls(
            values["email"],
            values["password"],
            values["code"],
            ticket,
            proof,
            device_cookie(request.headers),
            is_remembered=request.fields.get("remember") is True,
            is_handed=request.fields.get("hand") is True,
        )


LOG_IN = Fields(
    LogIn.of,
    (
        Text("email", "The account's mail", MAX_MAIL),
        Text("password", "Its password", MAX_PASSWORD_CHARACTERS),
        Text("code", "A two-factor or recovery code", MAX_CODE_CHARACTERS),
        Text(
            "ticket",
            "Instead of email and password: the ticket of a login by another service",
            MAX_LINK_TOKEN_CHARACTERS,
        ),
        Given("remember", "The session outlasts the browser; under /ui/api", ONLY_TRUE),
        Given("hand", "The answer has the token; under /ui/api", ONLY_TRUE),
    ),
)


@operation("token_log_in", "POST", "/token", LOG_IN, ANYBODY, schemas.PROFILE)
async def log_in(accounts: Accounts, parsed: LogIn, caller: Caller) -> Answer:
    if parsed.ticket:
        stored, token = await identities.redeem(
            accounts, parsed.ticket, parsed.proof, parsed.code, caller
        )
    else:
        stored, token = await log_ins.by_password(
            accounts, parsed.mail, parsed.password, parsed.code, caller, device=parsed.device
        )
    shown = profile(accounts, stored.account, stored.credentials)
    session = NewSession(
        token,
        partial(accounts.devices.cookie, stored.id, parsed.device),
        KNOWN_SECONDS,
        is_remembered=parsed.is_remembered,
        is_handed=parsed.is_handed,
    )
    return Answer(shown | {"password": None}, session=session)


@operation("token_log_out", "DELETE", "/token", NO_FIELDS, ANYBODY, schemas.DONE)
async def log_out(accounts: Accounts, parsed: None, caller: Caller) -> Answer:
    """Without a login it is done already."""
    await accounts.sessions.end(caller.viewer)
    return Answer("", session=NewSession(""))


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The email of the query; "" for one's own. `title` is the site's; `device` identifies a
    browser."""

    mail: str
    title: str
    device: str = ""

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "SecondFactor":
        title, device = context.settings.title, device_cookie(request.headers)
        return cls(values.get("email", ""), title, device)


def _require_no_part(request: RawRequest) -> None:
    require_no_part(request.headers)


SECOND_FACTOR = Shapes(
    (
        Fields(
            SecondFactor.of,
            (Text("email", "Email to query; without, a secret for oneself", MAX_MAIL),),
            source="query",
            who=ANYBODY,
            when=lambda request: bool(request.query.get("email")),
            before=_require_no_part,
        ),
        Fields(SecondFactor.of, before=_require_no_part),
    )
)


@operation("token_second_factor", "GET", "/token/2fa", SECOND_FACTOR, PERSON, schemas.SECOND_FACTOR)
async def second_factor(accounts: Accounts, parsed: SecondFactor, caller: Caller) -> Answer:
    """Whether a login needs a code; for oneself, a secret to set one up with."""
    if parsed.mail:
        is_asked = await log_ins.has_second_factor(
            accounts, parsed.mail, caller, device=parsed.device
        )
        return Answer({"enable": is_asked})
    assert caller.viewer.account is not None
    # A new one each time: the one in use is never returned, not even to its owner.
    secret = two_factor.new_secret()
    address = two_factor.otpauth_url(secret, caller.viewer.account.mail, parsed.title)
    return Answer({"otpauth_url": address, "secret": secret}, qr_text=address)


@dataclass(frozen=True, slots=True)
class NewSecondFactor:
    secret: str
    code: str
    proof: OwnerProof = OwnerProof()

    @classmethod
    def of(
        cls, values: FieldValues, request: RawRequest, context: ParseContext
    ) -> "NewSecondFactor":
        return cls(values["secret"], values["code"], proof_of(values))


def _check_code(code: str, context: ParseContext) -> str:
    return "" if len(code) == CODE_CHARACTERS else "code should be length under your options"


NEW_SECOND_FACTOR = Fields(
    NewSecondFactor.of,
    (
        Text("secret", "The secret", MAX_SECRET_CHARACTERS, required="secret can not be blank"),
        Text(
            "code",
            "The code that an authenticator shows for it, of six digits",
            MAX_CODE_CHARACTERS,
            check=_check_code,
            required="code can not be blank",
        ),
        *PROOF,
    ),
)


@operation(
    "token_second_factor_new", "POST", "/token/2fa", NEW_SECOND_FACTOR, PERSON, schemas.RECOVERY
)
async def add_second_factor(
    accounts: Accounts, parsed: NewSecondFactor, caller: Caller
) -> Mapping[str, object]:
    """Recovery codes, which are shown this once."""
    step = await new_step(accounts, parsed.secret, parsed.code, caller)
    await reauthentication.require(accounts, parsed.proof, caller, of_second_factor=True)
    return {"recovery": await ask_for_codes(accounts, parsed.secret, step, caller)}


@operation("session_list", "GET", "/token/sessions", NO_FIELDS, PERSON, schemas.SESSIONS)
async def sessions(accounts: Accounts, parsed: None, caller: Caller) -> JsonObject:
    """The account's sessions, and the proof that sensitive changes need."""
    account = caller.viewer.account
    assert account is not None
    stored = await accounts.store.by_id(account.id)
    if stored is None:
        raise LoggedOut()
    return {
        "proof": reauthentication.needed_for(stored.credentials),
        "sessions": [
            _session(session, caller.viewer)
            for session in await accounts.sessions.of(stored.account)
        ],
    }


def _session(session: Session, viewer: Viewer) -> dict[str, object]:
    return {
        "id": session.id,
        "current": session.id == viewer.session,
        "began": session.started_ms or None,
        "ends": session.ends_ms,
        "by": session.by or None,
        "browser": session.browser,
        "os": session.system,
        "network": session.network,
    }


def _id(values: FieldValues, request: RawRequest, context: ParseContext) -> str:
    return request.id[:MAX_ID]


SESSION = Fields(_id, id="One session; without, all others")


@operation("session_end", "DELETE", "/token/sessions", SESSION, PERSON, schemas.DONE)
async def end_sessions(accounts: Accounts, session: str, caller: Caller) -> str:
    """End one of your sessions; without an id, all others."""
    account = caller.viewer.account
    assert account is not None
    if session:
        await accounts.sessions.end_one(account, session)
    else:
        await accounts.sessions.end_others(caller.viewer)
    return ""
