"""Accounts in the place of those that the recording registered over HTTP.

The service has a place for accounts, but no operations to make them yet. So what the recording does
through /user and /token is done to the store here: a person registers, logs in, changes their
profile, is promoted or banned.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from footfall.model import PUBLIC, Account, Role, Viewer

from .recording import Row

# The token of somebody who is in no recording: an administrator for what ours asks one for.
KEEPER = "keeper"
# In `users`, two accounts log in under one capture's name; whose each token is, its later answers
# tell.
LOGINS = {
    "users/login admin": ("token-2", 1),
    "users/login bob": ("token-3", 2),
    "users/new password works": ("token-5", 2),
}
FIELDS = {
    "display_name": "nick",
    "email": "mail",
    "url": "link",
    "avatar": "avatar",
    "label": "label",
    "type": "role",
}


@dataclass
class People:
    """The accounts of one scenario. `save` puts one into the store."""

    save: Callable[[Account], Awaitable[None]]
    accounts: list[Account] = field(default_factory=list)
    tokens: dict[str, int] = field(default_factory=dict)
    banned: set[int] = field(default_factory=set)

    async def viewer_of(self, token: str) -> Viewer:
        if token == KEEPER:
            return Viewer(Account("keeper", "administrator", "Keeper", "keeper@example.com"))
        number = self.tokens.get(token)
        if number is None or number in self.banned:
            return PUBLIC
        return Viewer(self.accounts[number - 1])

    async def place(self, row: Row) -> None:
        """Do what a row of /user or /token did, in its recorded order."""
        match row.operation:
            case "POST user":
                await self._register(row.fields)
            case "POST token":
                self._log_in(row)
            case "PUT user":
                await self._change(self._whose(row), row.fields)
            case "DELETE user":
                self.banned.add(self._whose(row))
            case _:
                raise AssertionError(f"{row.id} sets up no account")

    async def _register(self, fields: Any) -> None:
        known = [n for n, each in enumerate(self.accounts, 1) if each.mail == fields["email"]]
        if known:
            self.banned.discard(known[0])
            return await self._change(known[0], fields)
        number = len(self.accounts) + 1
        role: Role = "guest" if self.accounts else "administrator"
        self.accounts.append(
            Account(f"account{number}", role, fields["display_name"], fields["email"])
        )
        await self._change(number, fields)

    def _log_in(self, row: Row) -> None:
        name = next(name for name in row.captures if name.startswith("token"))
        token, number = LOGINS.get(row.id, (name, row.data["objectId"]))
        self.tokens[token] = number

    async def _change(self, number: int, fields: Any) -> None:
        known: dict[str, Any] = {
            FIELDS[name]: value for name, value in fields.items() if name in FIELDS
        }
        account = replace(self.accounts[number - 1], **known)
        self.accounts[number - 1] = account
        await self.save(account)

    def _whose(self, row: Row) -> int:
        """The number of the account that a row of /user is about."""
        named = row.path.partition("{{user-")[2].removesuffix("}}")
        return int(named) if named else self.tokens[row.token]
