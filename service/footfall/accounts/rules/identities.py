"""Logging in through other services: they identify a person, who gets an account here.

A login is started (a flow, bound to the browser by a cookie), returns once, and ends in a ticket: a
link to this service's own page, which becomes a token once, in the same browser, after a two-factor
code if the account has one. An email proves nothing here, unless the other service has verified it:
then it counts as confirmed, and an account with that email which was never confirmed is handed
over, without anything by which somebody else could log in to it. Otherwise the owner of an account
logs in to it, and adds the service then.
"""

import logging
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

import orjson

from ...errors import (
    BadRequest,
    Busy,
    Denied,
    FlowExpired,
    IdentityTaken,
    LinkExpired,
    NotFound,
    NotProven,
    TooManyAttempts,
    Unavailable,
    UserExists,
    WrongCode,
)
from ...limits.clients import pool_client_of
from ...markup import safe_link, shown_name
from ...model import MAY_LOG_IN, Account, Caller, Credentials, Identity, Viewer
from ...outside.providers import Flow
from ..noun import Accounts
from ..store.accounts import AccountStore, Changed, Link, StoredAccount
from . import attempts, mail_change, reauthentication, registration, two_factor
from .attempts import attempt
from .changes import MAX_READINGS, After, change_account
from .mails import canonical, is_mail
from .reauthentication import OwnerProof

log = logging.getLogger(__name__)

# From the click to the answer of the other service, and from there to our own page.
FLOW_SECONDS = 600
TICKET_SECONDS = 300
# How long a login waits for the list of services, if it is not cached.
LIST_SECONDS = 5.0
MAX_NICK, MAX_LINK = 128, 2048


@dataclass(frozen=True, slots=True)
class Arrival:
    """The end of a login by another service: a ticket, or none if the service was added to an
    account. The browser keeps `proof`, which is in no address: the ticket is useless without it.
    `needs_code`: both together are not enough."""

    ticket: str = ""
    proof: str = ""
    needs_code: bool = False


async def start(
    accounts: Accounts, name: str, redirect: str, caller: Caller, *, adds: OwnerProof | None = None
) -> tuple[str, str]:
    """Where the browser goes to log in, and the state that it has to keep.

    `adds`: to the caller's account, with this as proof. Raises NotFound, BadRequest, Banned,
    Denied, TooManyAttempts, ProviderUnavailable, Busy, and what reauthentication.require does.
    """
    providers = accounts.providers
    if not providers.is_any:
        raise NotFound("Nobody logs in by another service here")
    target = providers.targets.resolve(redirect) if redirect else ""
    wrong = {}
    if name not in (names := await providers.names(LIST_SECONDS)):
        listed = ",".join(f'"{name}"' for name in names)
        wrong["type"] = f"type need in an array of [{listed}]"
    if redirect and not target:
        wrong["redirect"] = "redirect need a page of SERVER_URL, SITE_URL or SECURE_DOMAINS"
    if wrong:
        raise BadRequest(wrong)
    if adds and caller.viewer.account is None:
        raise Denied()
    accounts.bans.look()
    await attempts.start(accounts.buckets, caller)
    if adds is not None:
        await reauthentication.require(accounts, adds, caller)
    await accounts.bans.require_none(caller)
    state, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(3))
    account = caller.viewer.account.id if adds and caller.viewer.account else ""
    session = caller.viewer.session if adds else ""
    flow = Flow(name, state, target, account, verifier, nonce, session)
    async with accounts.process.pools.log_ins.turn(pool_client_of(caller)):
        address = await providers.address(flow)
    body = orjson.dumps(asdict(flow)).decode()
    await accounts.store.keep_link(("flow", state), body, lasts_ms=FLOW_SECONDS * 1000)
    return address, state


async def take(accounts: AccountStore, state: str) -> Flow:
    """The flow with this state, once. Raises FlowExpired."""
    body = await accounts.take_link(("flow", state))
    if not body:
        raise FlowExpired()
    return Flow(**orjson.loads(body))


async def arrive(
    accounts: Accounts, flow: Flow, answer: Mapping[str, str], caller: Caller
) -> Arrival:
    """The result of a flow whose browser has returned with this answer.

    Raises NotProven, Banned, Denied, IdentityTaken, RegistrationClosed, WrongSetupCode, UserExists,
    ProviderUnavailable, Busy.
    """
    if "error" in answer:
        raise NotProven()
    async with accounts.process.pools.log_ins.turn(pool_client_of(caller)):
        identity = await accounts.providers.identity(flow, answer)
    if flow.account:
        await _add(accounts, flow, identity)
        return Arrival()
    stored = await _account_of(accounts, identity, caller)
    if stored.account.role not in MAY_LOG_IN:
        raise Denied()
    # It names its service; a ticket with another name is invalid.
    ticket = f"{identity.service}.{secrets.token_urlsafe(24)}"
    proof = secrets.token_urlsafe(24)
    lasts_ms = TICKET_SECONDS * 1000
    await accounts.store.keep_link(_link_of(ticket, proof), stored.id, lasts_ms=lasts_ms)
    return Arrival(ticket, proof, bool(stored.credentials.totp))


def _link_of(ticket: str, proof: str) -> Link:
    return "ticket", f"{ticket} {proof}"


async def redeem(
    accounts: Accounts, ticket: str, proof: str, code: str, caller: Caller
) -> tuple[StoredAccount, str]:
    """The account that a ticket is for, and a token. A wrong code or proof does not use it up.

    Raises TooManyAttempts, FlowExpired, WrongCode, Banned, Denied.
    """
    made = await attempt(accounts.buckets, caller)
    link = _link_of(ticket, proof)
    id = await accounts.store.read_link(link)
    if not id:
        raise FlowExpired()
    # Somebody with a ticket may be guessing codes from many addresses.
    guess = await attempt(accounts.buckets, Caller(), f"ticket {id}")
    for _ in range(MAX_READINGS):
        stored = await accounts.store.by_id(id)
        if stored is None or stored.account.role not in MAY_LOG_IN:
            raise Denied()
        await accounts.bans.require_none(replace(caller, viewer=Viewer(stored.account)))
        left = two_factor.left_after(stored.credentials, code, accounts.process.clock())
        if left is None:
            raise WrongCode()
        try:
            by = ticket.rpartition(".")[0]
            token = await accounts.sessions.start(stored, left, link, by=by, caller=caller)
        except LinkExpired:
            # It was used at the same moment.
            raise FlowExpired() from None
        except Changed:
            continue
        made.with_also(guess).succeeded(id)
        await accounts.devices.remember(id, caller)
        return stored, token
    raise Unavailable()


async def _account_of(accounts: Accounts, identity: Identity, caller: Caller) -> StoredAccount:
    """The account with this identity; a new one, if there is none and REGISTRATION is open.

    Raises Banned, RegistrationClosed, WrongSetupCode, UserExists.
    """
    stored = await accounts.store.by_identity(identity.service, identity.id)
    if stored is None:
        await accounts.bans.require_none(caller, identity.mail)
        # It may be taken by the same person at the same moment.
        with suppress(IdentityTaken):
            await _register(accounts, identity, caller)
        stored = await accounts.store.by_identity(identity.service, identity.id)
    if stored is None:
        raise Unavailable()
    return stored


async def _register(accounts: Accounts, identity: Identity, caller: Caller) -> None:
    """Raises IdentityTaken, RegistrationClosed, WrongSetupCode, UserExists."""
    nick = shown_name(identity.nick)[:MAX_NICK] or identity.service
    made = registration.new_account(
        accounts.process, nick, identity.mail, "guest", _link(identity.link)
    )
    shown = identity.mail if is_mail(identity.mail) else ""
    asks = bool(shown) and not identity.is_vouched and accounts.mails.confirms
    if asks:
        # The owner of an account with it learns this, as if it were taken.
        await mail_change.is_needed(accounts, made.id, shown)
    # Emails are unique: an account without one gets one that is undeliverable and cannot be
    # guessed.
    mail = f"{made.id}@mail.{identity.service}" if asks or not shown else shown
    account = replace(made, mail=mail, avatar=_link(identity.avatar))
    openings = accounts.rules.openings(account, setup_code="")
    confirmed = canonical(shown) if identity.is_vouched else ""
    credentials = Credentials(identities={identity.service: identity.id}, confirmed=confirmed)
    try:
        await registration.admit(accounts, openings, credentials)
    except UserExists:
        await _take_over(accounts, credentials)
    if asks:
        # They are logged in anyway, and can enter another email in their profile.
        with suppress(TooManyAttempts, Busy):
            await mail_change.require_turn(accounts, shown, caller)
            await mail_change.start(accounts, account, shown, caller)


async def _take_over(accounts: Accounts, credentials: Credentials) -> None:
    """Hand the account with the confirmed email over to the person known by this, unless it was
    confirmed before. An administrator's is never: it would be more than an address.

    Raises UserExists.
    """
    stored = await accounts.store.by_mail(credentials.confirmed) if credentials.confirmed else None
    if stored is None:
        raise UserExists()

    def change(account: Account, before: Credentials) -> After:
        is_there = canonical(account.mail) == credentials.confirmed
        is_free = is_there and before.confirmed != credentials.confirmed
        if not is_free or account.role not in ("guest", "unverified"):
            raise UserExists()
        return replace(account, role="guest"), credentials

    await change_account(accounts, stored.id, change, revokes=True)
    log.info("account %s belongs to the person that another service vouched for", stored.id)


def _link(text: str) -> str:
    is_whole = text.startswith(("http://", "https://")) and len(text) <= MAX_LINK
    return safe_link(text) if is_whole else ""


async def _add(accounts: Accounts, flow: Flow, identity: Identity) -> None:
    """Let the account be known by this as well. Raises IdentityTaken, Denied, LoggedOut."""

    def change(account: Account, credentials: Credentials) -> After:
        if account.role not in MAY_LOG_IN:
            raise Denied()
        identities = {**credentials.identities, identity.service: identity.id}
        avatar = account.avatar or _link(identity.avatar)
        mail = canonical(account.mail)
        is_proven = identity.is_vouched and canonical(identity.mail) == mail
        confirmed = mail if is_proven else credentials.confirmed
        after = replace(credentials, identities=identities, confirmed=confirmed)
        return replace(account, avatar=avatar), after

    if await change_account(accounts, flow.account, change, session=flow.session) is None:
        raise Denied()
