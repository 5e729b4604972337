"""`footfall accounts …`: commands about stored accounts."""

import json

import click

from ..accounts.noun import Accounts
from ..accounts.rules import banning
from ..accounts.rules.bans import until_of
from ..accounts.rules.changes import facts
from ..accounts.rules.links import LINK_SECONDS, new_link
from ..accounts.rules.mails import canonical, is_mail
from ..accounts.rules.registration import new_account
from ..config import Settings
from ..errors import UserExists
from ..http.params import MAX_MAIL, MAX_NICK
from ..markup import shown_name
from ..model import MODERATORS, Account, Credentials, Role
from .commands import Group
from .console import NothingToDo, aside, printable, settings_of_environment
from .dataset import CONSOLE, with_site

# Accounts read at once.
STEP_ACCOUNTS = 256

_who = click.argument("who", metavar="MAIL_OR_ID")


@click.group(cls=Group)
def accounts() -> None:
    """Manage accounts.

    Services may keep running: changes take effect at once. A ban or a new password ends all
    sessions of the account.
    """


@accounts.command("list")
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object per line.")
def list_(is_json: bool) -> None:
    """List accounts, oldest first."""

    async def show(accounts: Accounts) -> int:
        number, total = 0, 1
        while number < total:
            total, step = await accounts.store.listed(number, STEP_ACCOUNTS)
            for account in step:
                click.echo(json.dumps(facts(account)) if is_json else _as_line(account))
            number += STEP_ACCOUNTS
        return total

    if not with_site(lambda site: show(site.accounts)):
        click.echo(
            "there are no accounts: create one with `footfall accounts add MAIL --administrator`",
            err=True,
        )


@accounts.command()
@click.argument("mail")
@click.option("--nick", help="Display name; default: the first part of the email.")
@click.option("--administrator", "is_administrator", is_flag=True, help="Create an administrator.")
def add(mail: str, nick: str | None, is_administrator: bool) -> None:
    """Create an account and print a link to set its password, valid once for a day."""
    nick = shown_name(nick or mail.partition("@")[0])
    if not is_mail(mail) or len(mail) > MAX_MAIL:
        raise click.ClickException(f"{mail!r} is not an email address")
    if not nick or len(nick) > MAX_NICK:
        raise click.ClickException(f"a name has 1 to {MAX_NICK} characters")
    role: Role = "administrator" if is_administrator else "guest"

    async def make(accounts: Accounts) -> str:
        account = new_account(accounts.process, nick, mail, role)
        try:
            await accounts.store.register(account, account, canonical(mail), Credentials())
        except UserExists:
            raise click.ClickException(
                f"{mail} has an account already: `footfall accounts promote` makes its owner an "
                "administrator, `footfall accounts password` gives a link for another password"
            ) from None
        return await new_link(accounts.store, account.id)

    # Read once: a file that is a pipe has its text only once.
    settings = settings_of_environment()
    _say_link(settings, with_site(lambda site: make(site.accounts), settings))


@accounts.command()
@_who
def password(who: str) -> None:
    """Print a link to set a new password, valid once for a day. The old one works until then."""

    async def make(accounts: Accounts) -> str:
        account = await _found(accounts, who)
        if account.role == "banned":
            aside(f"({printable(account.mail)} is banned, and cannot log in before `unban`)")
        return await new_link(accounts.store, account.id)

    settings = settings_of_environment()
    _say_link(settings, with_site(lambda site: make(site.accounts), settings))


@accounts.command()
@_who
@click.option("--moderator", "is_moderator", is_flag=True, help="Make it a moderator instead.")
def promote(who: str, is_moderator: bool) -> None:
    """Make an account administrator, unless it is banned.

    Moderators manage comments and bans; they cannot see accounts, settings, imports or exports.
    """
    if is_moderator:
        outcomes = "is a moderator now", "is a moderator already, or an administrator"
        _change(who, "moderator", *outcomes, of=("guest", "unverified"))
    else:
        outcomes = "is an administrator now", "is an administrator already"
        _change(who, "administrator", *outcomes, of=("guest", "unverified", "moderator"))


@accounts.command()
@_who
def demote(who: str) -> None:
    """Make an administrator or a moderator a guest."""
    _change(who, "guest", "is a guest now", "is neither of them", of=MODERATORS)


@accounts.command()
@_who
def ban(who: str) -> None:
    """Ban an account and end its sessions. Its comments stay.

    After the ban an administrator becomes a guest.
    """

    async def work(accounts: Accounts) -> str:
        account = await _found(accounts, who)
        mail = printable(account.mail)
        is_new = await banning.ban_account(accounts, account.id, CONSOLE)
        if is_new is None:
            raise _nobody(who)
        if not is_new:
            listed = await accounts.bans.store.get(account.id)
            until = until_of(listed) if listed else ""
            ends = f" until {until}: `footfall bans add` changes that" if until else ""
            raise NothingToDo(f"{mail} is banned already{ends}")
        return f"{mail} is banned now"

    click.echo(with_site(lambda site: work(site.accounts)))


@accounts.command()
@_who
def unban(who: str) -> None:
    """Unban an account, as a guest."""

    async def work(accounts: Accounts) -> str:
        account = await _found(accounts, who)
        mail = printable(account.mail)
        if not await banning.lift(accounts, account.id, CONSOLE):
            raise NothingToDo(f"{mail} is not banned")
        return f"{mail} may log in again, as a guest"

    click.echo(with_site(lambda site: work(site.accounts)))


@accounts.command()
@_who
@click.option("--yes", "is_meant", is_flag=True, help="Delete instead of only showing.")
def delete(who: str, is_meant: bool) -> None:
    """Delete an account permanently. Its comments stay, without a name."""

    async def remove(accounts: Accounts) -> str:
        account = await _found(accounts, who)
        if not is_meant:
            return f"would be deleted: {_as_line(account)}\nNothing was done; --yes deletes it."
        if not await banning.remove(accounts, account.id, CONSOLE):
            raise _nobody(who)
        return f"deleted: {_as_line(account)}"

    click.echo(with_site(lambda site: remove(site.accounts)))


def _change(who: str, role: Role, done: str, already: str, *, of: tuple[Role, ...]) -> None:
    """Give an account another role, if it has one of these."""

    async def change(accounts: Accounts) -> str:
        account = await _found(accounts, who)
        mail = printable(account.mail)
        was = await banning.change_role(accounts, account.id, role, CONSOLE, of=of)
        if was is None:
            raise _nobody(who)
        if was.role == "banned" and role in MODERATORS:
            raise click.ClickException(f"{mail} is banned: `footfall accounts unban` ends that")
        if was.role not in of:
            raise NothingToDo(f"{mail} {already}")
        return f"{mail} {done}"

    click.echo(with_site(lambda site: change(site.accounts)))


async def _found(accounts: Accounts, who: str) -> Account:
    stored = await accounts.store.by_id(who) or await accounts.store.by_mail(canonical(who))
    if stored is None:
        raise _nobody(who)
    return stored.account


def _nobody(who: str) -> click.ClickException:
    return click.ClickException(
        f"no account has the mail or id {who!r}; `footfall accounts list` shows all"
    )


def _say_link(settings: Settings, token: str) -> None:
    address = settings.server_url or f"http://{settings.host}:{settings.port}"
    hours = LINK_SECONDS // 3600
    click.echo(f"This link sets the password; once, within {hours} hours:", err=True)
    if not settings.server_url:
        click.echo("(SERVER_URL is not set: put in the address that browsers know)", err=True)
    # After the sign #, which browsers do not send, so that the token is in no log on the way.
    click.echo(f"{address.rstrip('/')}/ui/forgot#{token}")


def _as_line(account: Account) -> str:
    columns = (account.id, account.role, account.mail, account.nick)
    return "  ".join(map(printable, columns))
