"""Links in emails: a lost password, and an address that is confirmed."""

from dataclasses import dataclass

from ...errors import Denied
from ...http.fetch_metadata import require_navigation
from ...http.params import RawRequest
from ...http.response import Response
from ...model import Caller
from ...table import schemas
from ...table.context import ParseContext
from ...table.fields import Fields, FieldValues, Shapes, Text, copied
from ...table.names import Name
from ...table.rows import Declared
from ...table.who import ANYBODY
from ..noun import Accounts
from ..rules import links, mail_change, registration
from ..rules.passwords import MAX_PASSWORD_CHARACTERS
from .accounts import NEEDED_MAIL, NEEDED_PASSWORD
from .session import MAX_LINK_TOKEN_CHARACTERS

operation = Declared[Accounts]("accounts")


@dataclass(frozen=True, slots=True)
class LostPassword:
    """A lost password: of the account with an email, or a new one, with a link's token."""

    mail: str
    token: str
    password: str

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "LostPassword":
        return cls("", values["token"], values["password"])

    @classmethod
    def of_mail(
        cls, values: FieldValues, request: RawRequest, context: ParseContext
    ) -> "LostPassword":
        return cls(values["email"], "", "")


_LINK_TOKEN = Text(
    "token",
    "The token of the link in an email, after its #",
    MAX_LINK_TOKEN_CHARACTERS,
    required="token can not be blank",
)
LOST_PASSWORD = Shapes(
    (
        Fields(
            LostPassword.of,
            (_LINK_TOKEN, NEEDED_PASSWORD),
            when=lambda request: bool(request.fields.get("token")),
        ),
        Fields(LostPassword.of_mail, (NEEDED_MAIL,)),
    )
)


@operation("user_password", "PUT", "/user/password", LOST_PASSWORD, ANYBODY, schemas.DONE)
async def lost_password(accounts: Accounts, parsed: LostPassword, caller: Caller) -> str:
    """Where no emails are sent, an administrator makes a link by command."""
    if parsed.token:
        await links.set_password(accounts, parsed.token, parsed.password, caller)
    elif accounts.mails.are_sent:
        await links.forgotten(accounts, parsed.mail, caller)
    else:
        raise Denied()
    return ""


VERIFICATION = copied(
    str,
    (Text("token", "From the link in an email", MAX_LINK_TOKEN_CHARACTERS),),
    source="query",
    before=lambda request: require_navigation(request.headers),
)


@operation("user_verify", "GET", "/verification", VERIFICATION, ANYBODY, schemas.REDIRECT)
async def lead(accounts: Accounts, token: str, caller: Caller) -> Response:
    """To the page that confirms. Nothing is done here: scanners of emails open links, too."""
    await registration.used_by(accounts.store, token)
    page = f"{accounts.providers.targets.server_url}/ui/confirm#{token}"
    return Response(302, b"", [(b"location", page.encode())])


@dataclass(frozen=True, slots=True)
class Confirmation:
    """With a `nick`, it and the password are new."""

    token: str
    password: str
    nick: str


CONFIRMATION = copied(
    Confirmation,
    (
        _LINK_TOKEN,
        Text("password", "Chosen, or the account's", MAX_PASSWORD_CHARACTERS),
        Name("display_name", "If somebody else registered: the name to have instead"),
    ),
)


@operation("user_confirm", "PUT", "/verification", CONFIRMATION, ANYBODY, schemas.DONE)
async def confirm(accounts: Accounts, parsed: Confirmation, caller: Caller) -> str:
    """Use up the link in an email; which account it is for, the link knows."""
    # The token of a link for an account names it.
    if "." in parsed.token:
        await mail_change.confirm(accounts, parsed.token, parsed.password, caller)
    else:
        token, password = parsed.token, parsed.password
        await registration.confirm(accounts, token, password, caller, parsed.nick)
    return ""
