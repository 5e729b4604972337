"""Accounts: register, change, list and ban: what clients know as `user`.

The names of fields are Waline's. What a request may not set is not read.
"""

from dataclasses import dataclass, replace
from typing import cast

from ...errors import Denied, UserExists
from ...http.params import (
    MAX_CAPTCHA,
    MAX_ID,
    MAX_LINK,
    MAX_MAIL,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    RawRequest,
)
from ...markup import safe_link
from ...model import ROLES, Account, Caller, Credentials, Role
from ...render.view import DisplayOptions
from ...table import schemas
from ...table.answers import Data, JsonObject
from ...table.context import ParseContext
from ...table.fields import NO_FIELDS, Choice, Fields, FieldValues, Given, Integer, Text, copied
from ...table.names import Name
from ...table.rows import Declared
from ...table.who import ANYBODY, MEMBER, QUIET_ADMINISTRATOR
from ..noun import Accounts
from ..rules import attempts, banning, mail_change, reauthentication, registration
from ..rules.captcha import Proof
from ..rules.changes import Changes, created_at, edit_account
from ..rules.mails import canonical, is_mail
from ..rules.passwords import MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS, TOO_SHORT
from ..rules.reauthentication import OwnerProof
from ..rules.registration import Applicant
from .captcha_fields import captcha_fields, captcha_token
from .session import PROOF, described, proof_of

operation = Declared[Accounts]("accounts")

# Waline's message for an invalid email.
NO_MAIL = "email need an email under your options"
NO_LINK = "url and avatar need an address of the web, with http:// or https://"
MAX_LABEL = 32
DEFAULT_SIZE = 10


def _check_mail(mail: str, context: ParseContext) -> str:
    return "" if is_mail(mail) else NO_MAIL


def _check_password(password: str, context: ParseContext) -> str:
    return TOO_SHORT if len(password) < MIN_PASSWORD_CHARACTERS else ""


def _check_link(link: str, context: ParseContext) -> str:
    return "" if safe_link(link) or not link.strip() else NO_LINK


_NICK = Name("display_name", "The name")
_MAIL = Text("email", "The mail", MAX_MAIL, check=_check_mail)
_PASSWORD = Text(
    "password",
    "A new password",
    MAX_PASSWORD_CHARACTERS,
    check=_check_password,
    least=MIN_PASSWORD_CHARACTERS,
)
_LINK = Text("url", "The website", MAX_LINK, check=_check_link)
NEEDED_MAIL = replace(_MAIL, required=NO_MAIL)
NEEDED_PASSWORD = replace(_PASSWORD, required="password can not be blank")


def _applicant(values: FieldValues, request: RawRequest, context: ParseContext) -> Applicant:
    return Applicant(
        nick=values["display_name"],
        mail=values["email"],
        password=values["password"],
        link=safe_link(values["url"]),
        setup_code=values["setup_code"],
        proof=Proof(captcha_token(values, context.settings), values["work"]),
    )


APPLICANT = Fields(
    _applicant,
    (
        replace(_NICK, required="display_name can not be blank"),
        NEEDED_MAIL,
        NEEDED_PASSWORD,
        _LINK,
        Text("setup_code", "`SETUP_CODE`, of the first administrator", MAX_PASSWORD_CHARACTERS),
        *captcha_fields(),
        Text("work", "The solution of `GET /user/challenge`", MAX_CAPTCHA),
    ),
)


@operation("user_register", "POST", "/user", APPLICANT, ANYBODY, schemas.REGISTERED)
async def register(accounts: Accounts, applicant: Applicant, caller: Caller) -> JsonObject | str:
    """Like Waline, it returns whether the address must be confirmed first."""
    is_asked = await registration.register(accounts, applicant, caller)
    return {"verify": True} if is_asked else ""


@operation("user_challenge", "GET", "/user/challenge", NO_FIELDS, ANYBODY, schemas.CHALLENGE)
async def challenge(accounts: Accounts, _: None, caller: Caller) -> JsonObject | None:
    return await accounts.captcha.challenge()


def _changed_link(link: str, request: RawRequest, name: str) -> str | None:
    is_null = name in request.fields and request.fields[name] is None
    return "" if is_null else safe_link(link) or None


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of the account with this id; of one's own without."""

    id: str
    changes: Changes
    label: str | None
    role: Role | None
    proof: OwnerProof = OwnerProof()

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Edit":
        # A blank name or address keeps the old one, as in Waline; null removes it.
        changes = Changes(
            nick=values["display_name"] or None,
            link=_changed_link(values["url"], request, "url"),
            avatar=_changed_link(values["avatar"], request, "avatar"),
            mail=values["email"] or None,
            password=values["password"] or None,
            removes_second_factor=values["2fa"] == "",
            ends_sessions=values["sessions"] == "",
            # The settings decide which services exist.
            forgotten=frozenset(
                name for name in context.providers.known() if request.fields.get(name) == ""
            ),
        )
        label = values["label"]
        return cls(request.id, changes, label, cast(Role, values["type"]) or None, proof_of(values))


EDIT = Fields(
    Edit.of,
    (
        _NICK,
        _LINK,
        Text("avatar", "The address of a picture", MAX_LINK, check=_check_link),
        _MAIL,
        _PASSWORD,
        Given("2fa", "Blank: turn two-factor authentication off", {"const": ""}),
        Given("sessions", "Blank: end all other sessions", {"const": ""}),
        Name("label", "The badge beside the name; only administrators change it", MAX_LABEL, None),
        Choice("type", "The role; only administrators change it, for others", "", ROLES),
        *PROOF,
    ),
    id="The account; without, one's own",
)


@operation("user_edit", "PUT", "/user", EDIT, MEMBER, schemas.REGISTERED)
async def edit(accounts: Accounts, parsed: Edit, caller: Caller) -> JsonObject | str:
    """Edit your own account, or as an administrator any account, with its label and role."""
    account = caller.viewer.account
    assert account is not None
    if parsed.id and not caller.viewer.is_administrator:
        raise Denied()
    id, changes, role = parsed.id or account.id, parsed.changes, None
    asked: str | None = None
    if caller.viewer.is_administrator:
        # Administrators only: a badge beside a name is the owner's statement about its bearer.
        changes = replace(changes, label=parsed.label)
        role = parsed.role if parsed.id else None
    try:
        await reauthentication.require_for(accounts, id, changes, role, parsed.proof, caller)
        if not caller.viewer.is_administrator:
            await attempts.edit(accounts.buckets, caller)
        is_own = id == account.id
        if is_own and changes.mail and await mail_change.is_needed(accounts, id, changes.mail):
            await mail_change.require_turn(accounts, changes.mail, caller)
            changes, asked = replace(changes, mail=None), changes.mail
        if role:
            await banning.give_role(accounts, id, role, caller, changes)
        else:
            session = caller.viewer.session if is_own else ""
            await edit_account(accounts, id, changes, session)
    except UserExists:
        # Waline does not reveal whose email it is either.
        raise Denied() from None
    if not asked:
        return ""
    # After the rest: a new password ends the links of the old one.
    await mail_change.start(accounts, account, asked, caller)
    return {"verify": True}


def _id(values: FieldValues, request: RawRequest, context: ParseContext) -> str:
    return request.id[:MAX_ID]


BAN = Fields(_id, id="The account", needs_id=True)


@operation("user_ban", "DELETE", "/user", BAN, QUIET_ADMINISTRATOR, schemas.DONE)
async def ban(accounts: Accounts, id: str, caller: Caller) -> str:
    """Ban an account, or remove one whose email was never verified."""
    account = caller.viewer.account
    assert account is not None
    if id == account.id:
        raise Denied()
    stored = await accounts.store.by_id(id)
    if stored is None:
        raise Denied()
    if stored.account.role == "unverified":
        await banning.remove(accounts, id, caller)
    else:
        await banning.give_role(accounts, id, "banned", caller)
    return ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of accounts, or the one with this email."""

    page: int
    size: int
    mail: str


LISTING = copied(
    Listing,
    (
        Integer("page", "Which part, for administrators", 1, MAX_PAGE),
        Integer("pageSize", "How many; of the ranking 50 at most", 0, MAX_PAGE_SIZE),
        Text("email", "Only the account with this email, for administrators", MAX_MAIL),
    ),
    source="query",
)


async def list_accounts(accounts: Accounts, parsed: Listing) -> Data:
    """For administrators."""
    if parsed.mail:
        stored = await accounts.store.by_mail(canonical(parsed.mail))
        return _row(accounts.display, stored.account, stored.credentials) if stored else ""
    size = parsed.size or DEFAULT_SIZE
    first = (parsed.page - 1) * size
    total, found = await accounts.store.listed(first, size, is_newest_first=True)
    ids = [account.id for account in found]
    secrets = await accounts.store.credentials(ids) if ids else []
    return {
        "page": parsed.page,
        "totalPages": -(-total // size),
        "pageSize": size,
        "data": [
            _row(accounts.display, account, credentials)
            for account, credentials in zip(found, secrets, strict=True)
        ],
    }


def _row(display: DisplayOptions, account: Account, credentials: Credentials) -> dict[str, object]:
    shown = described(display, account) | {"2fa": "on" if credentials.totp else None}
    if created := created_at(account):
        shown["createdAt"] = created
    return shown
