"""Which login each row was sent with, and how to be logged in as that person here.

The recording's tokens outlive logout and other passwords; ours end with them, so the replay logs
in again. Its passwords are shorter than ours may be: the replay sends longer ones. And it proves
whose account is changed, which Waline does not ask.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pyotp

from .recording import Answer, Row, unwrapped

# Captures of the recording that are another account's token than their names say, as later answers
# show.
CAPTURED = {"users/login bob": "token-3", "users/login evil (type?)": "token-7"}
# For requests that only an administrator may send, in a scenario that has none.
KEEPER = {"display_name": "Keeper", "email": "keeper@example.com", "password": "the keeper's own"}
# Passwords of the recording -> those that are sent.
LONGER = {"secret": "secret-of-the-recording", "newpw": "newpw-of-the-recording"}
JSON = {"content-type": "application/json"}
CODE_SECONDS = 30

Send = Callable[[str, str, Mapping[str, str], Any], Answer]


@dataclass
class Person:
    """An account, by its number in the recording; `token` is "" once it has ended."""

    fields: dict[str, Any]
    token: str = ""
    is_banned: bool = False


@dataclass
class People:
    """`send` sends requests to the server of this replay."""

    send: Send
    persons: dict[int, Person] = field(default_factory=dict)
    # Names of tokens in the recording -> numbers of accounts.
    whose: dict[str, int] = field(default_factory=dict)
    # The secret of the last answer, for setting two-factor authentication up.
    secret: str = ""
    # The secret that is in use.
    _used: str = ""
    _codes: int = 0
    _recovery: str = ""

    def token(self, name: str, *, may_log_in: bool) -> str:
        """The token to send for one of the recording; an ended one if nobody may log in again."""
        number = self.whose.get(name)
        if number is None:
            return name
        person = self.persons[number]
        if not person.token and may_log_in and not person.is_banned:
            person.token = self._log_in(person.fields)
        return person.token or "an ended token"

    def has_ended(self, name: str) -> bool:
        number = self.whose.get(name)
        return number is not None and not self.persons[number].token

    def keeper(self) -> str:
        """The token of an administrator: the recording's first account, or one that is made."""
        if 1 not in self.persons:
            self.send("POST", "/api/user", JSON, KEEPER)
            self.persons[1] = Person(dict(KEEPER))
        self.whose.setdefault("keeper", 1)
        return self.token("keeper", may_log_in=True)

    def _log_in(self, fields: Mapping[str, Any]) -> str:
        body = {"email": fields["email"], "password": fields["password"]}
        token: str = self.send("POST", "/api/token", JSON, body).body["data"]["token"]
        return token

    def body(self, row: Row) -> Any:
        """The body to send, with a current code of two-factor authentication for the recorded
        one."""
        fields = {**_longer(row.fields), **self._proof(row)}
        if isinstance(row.body, str) and "password=" in row.body:
            return urlencode(_longer(row.form))
        if not self.secret or fields.get("code") in (None, "", "000000", "1", "123456"):
            return fields if isinstance(row.body, dict) and row.body else row.body
        # No code is accepted twice, so each is a step later than the one before.
        at = int(time.time()) + CODE_SECONDS * self._codes
        self._codes += 1
        if "secret" in fields:
            self._used = self.secret
            return {**fields, "secret": self.secret, "code": pyotp.TOTP(self.secret).at(at)}
        return {**fields, "code": pyotp.TOTP(self._used).at(at)}

    def _proof(self, row: Row) -> dict[str, str]:
        """What the caller of a change proves their account with: the password, or a code."""
        person = self.persons.get(self.whose.get(row.token, 0))
        if person is None or not {"password", "email", "type", "2fa", "secret"} & row.fields.keys():
            return {}
        if row.fields.get("2fa") == "" and self._recovery:
            return {"current_code": self._recovery}
        return {"current_password": person.fields["password"]}

    def learn(self, row: Row, got: Answer) -> None:
        """Learn from a row who is logged in now."""
        data = unwrapped(got.body)
        if row.path.endswith("/token/2fa") and isinstance(data, dict) and "secret" in data:
            self.secret = data["secret"]
        if row.path.endswith("/token/2fa") and isinstance(data, dict) and "recovery" in data:
            self._recovery = data["recovery"][0]
        if not isinstance(got.body, dict) or got.body.get("errno"):
            return
        if row.operation == "POST token" and not row.path.endswith("2fa"):
            self._logged_in(row, data)
        elif row.operation == "DELETE token" and row.token:
            self.persons[self.whose[row.token]].token = ""
        elif row.operation in ("PUT user", "DELETE user") and "password" not in row.path:
            self._changed(row)

    def _logged_in(self, row: Row, data: Mapping[str, Any]) -> None:
        # "login of that user": the recording refused it, and so captured nothing.
        number = row.data["objectId"] if row.data else 0
        name = CAPTURED.get(row.id) or next((n for n in row.captures if n.startswith("token")), "")
        if not (number and name):
            return
        self.whose[name] = number
        person = self.persons.setdefault(number, Person({}))
        person.token = data["token"]
        person.fields = {"email": data["email"], "password": _longer(row.form)["password"]}

    def _changed(self, row: Row) -> None:
        named = row.path.partition("{{user-")[2].removesuffix("}}")
        number = int(named) if named else self.whose.get(row.token, 0)
        person = self.persons.get(number)
        if person is None:
            return
        if row.fields.keys() & {"password", "type"} and (named or "type" not in row.fields):
            person.token, person.is_banned = "", False
            person.fields |= {n: v for n, v in _longer(row.fields).items() if n == "password"}
        if row.operation == "DELETE user":
            person.token, person.is_banned = "", True


def _longer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with a password that may be set here."""
    known = {"password": LONGER.get(str(fields["password"]))} if "password" in fields else {}
    return {**fields, **{name: value for name, value in known.items() if value}}
