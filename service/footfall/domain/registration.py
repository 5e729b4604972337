"""Making an account: who may, and what the first one is."""

from dataclasses import dataclass

from ..errors import RegistrationClosed, WrongSetupCode
from ..model import Account, Caller, Credentials, Role
from ..store.ids import SHORT
from . import attempts
from .captcha import Proof
from .mails import canonical
from .service import Service


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who wants an account."""

    nick: str
    mail: str
    password: str
    link: str = ""
    setup_code: str = ""
    proof: Proof = Proof()


async def register(service: Service, applicant: Applicant, caller: Caller) -> Account:
    """Make an account. The first of all is the administrator's.

    Raises TooManyAttempts, CaptchaFailed, Banned, RegistrationClosed, WrongSetupCode, UserExists,
    BadRequest, Busy.
    """
    service.bans.look()
    await attempts.apply(service, caller, is_guessing=bool(applicant.setup_code))
    await service.captcha.require_for_registration(applicant.proof, caller)
    await service.bans.require_none(caller, applicant.mail)
    account = new_account(service, applicant.nick, applicant.mail, "guest", applicant.link)
    openings = service.account_rules.openings(account, applicant.setup_code)
    password = ""
    if any(openings):
        password = await service.passwords.hash(applicant.password, applicant.mail)
    return await admit(service, openings, Credentials(password))


async def admit(
    service: Service, openings: tuple[Account | None, Account | None], credentials: Credentials
) -> Account:
    """Make an account as the first or as another, whichever may be.

    Raises RegistrationClosed, WrongSetupCode, UserExists, IdentityTaken.
    """
    shape = openings[0] or openings[1]
    if shape:
        mail = canonical(shape.mail)
        if made := await service.accounts.register(*openings, mail, credentials):
            return made
    is_closed = service.account_rules.registration == "closed"
    if is_closed or await service.accounts.administrators():
        raise RegistrationClosed()
    raise WrongSetupCode()


def new_account(service: Service, nick: str, mail: str, role: Role, link: str = "") -> Account:
    id = service.ids.new(service.clock(), "")[:SHORT]
    return Account(id, role, nick, mail, link)
