"""Any sequence of changes of accounts, bans and comments, against a model of who may do what.

The model knows the roles of accounts, the bans, and the authors of comments. Anyone with a token,
a post or a moderated comment must get the model's answer, and `check` must find nothing.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, invariant, multiple, rule

from footfall.accounts.rules import banning
from footfall.accounts.rules.ban_list import value_of
from footfall.accounts.rules.mails import canonical
from footfall.errors import UserExists
from footfall.model import MAY_LOG_IN, ROLES, Account, Caller, Credentials, Role, Viewer
from tests.support.accounts import save_account
from tests.support.backups import report

from .machines import SiteMachine, play

ROOT = Account("root", "administrator", "Root", "root@example.com")
MAILS = ("ann@example.com", "ANN@Example.com", "bob@example.com", "eve@example.com")
TRUST_AFTER = 2
_texts = count()


@dataclass
class Person:
    """An account as the model knows it. `tokens` are those of sessions that have not ended."""

    id: str
    mail: str
    role: Role
    tokens: set[str] = field(default_factory=set)
    is_gone: bool = False


@dataclass
class Token:
    text: str
    person: Person


@dataclass
class Said:
    id: str
    account: str
    mail: str
    status: str
    is_gone: bool = False


class Accounts(SiteMachine):
    people: Bundle[Person] = Bundle("people")
    tokens: Bundle[Token] = Bundle("tokens")
    comments: Bundle[Said] = Bundle("comments")

    @initialize(target=people)
    def open(self) -> Any:
        self.accounts: dict[str, Person] = {}
        self.banned: set[str] = set()
        self.said: list[Said] = []
        environ = {"IPQPS": "0", "COMMENT_AUDIT": "true", "TRUST_AFTER": str(TRUST_AFTER)}
        self.start(environ)
        self.run(save_account(self.site.store, ROOT))
        self.root = self.session_of(ROOT.id)
        return multiple(*(self.register_with(mail) for mail in MAILS[1:3]))

    def session_of(self, id: str) -> str:
        stored = self.run(self.site.store.accounts.by_id(id))
        # By another service, and a moment ago: that proves whose account it is.
        started = self.site.service.accounts.sessions.start(stored, stored.credentials, by="github")
        token: str = self.run(started)
        return token

    def owner(self, mail: str) -> Person | None:
        found = (
            account
            for account in self.accounts.values()
            if canonical(account.mail) == canonical(mail)
        )
        return next(found, None)

    def ask(self, method: str, path: str, body: Any = None, by: str = "") -> Any:
        return self.run(self.site.send(method, f"/api{path}", body, by=by or self.root))

    # Accounts.

    @rule(target=people, mail=st.sampled_from(MAILS))
    def register(self, mail: str) -> Any:
        return self.register_with(mail)

    def register_with(self, mail: str) -> Any:
        id = self.site.service.process.ids.new(self.site.clock(), "")[:16]
        account, taken = Account(id, "guest", "N", mail), self.owner(mail)
        work = self.site.store.accounts.register(None, account, canonical(mail), Credentials())
        try:
            self.run(work)
        except UserExists:
            assert taken
            return multiple()
        assert taken is None
        self.accounts[id] = person = Person(id, mail, "guest")
        return person

    @rule(target=tokens, person=people)
    def log_in(self, person: Person) -> Any:
        return self.log_in_as(person) or multiple()

    def log_in_as(self, person: Person) -> Token | None:
        if person.is_gone or person.role not in MAY_LOG_IN:
            return None
        token = self.session_of(person.id)
        person.tokens.add(token)
        return Token(token, person)

    @rule(token=tokens)
    def log_out(self, token: Token) -> None:
        self.ask("DELETE", "/token", by=token.text)
        token.person.tokens.discard(token.text)

    @rule(token=tokens, mail=st.sampled_from(MAILS))
    def change_mail(self, token: Token, mail: str) -> None:
        person, taken = token.person, self.owner(mail)
        answer = self.ask("PUT", "/user", {"email": mail}, by=token.text)
        if token.text not in person.tokens or taken not in (None, person):
            assert answer == {"errno": 1000}
            return
        assert answer["errno"] == 0
        person.mail = mail

    @rule(person=people, role=st.sampled_from(ROLES), mail=st.sampled_from((*MAILS, "")))
    def give_role(self, person: Person, role: Role, mail: str) -> None:
        """With another email, or none: both change, or nothing."""
        taken = self.owner(mail)
        answer = self.ask("PUT", f"/user/{person.id}", {"type": role, "email": mail})
        if not person.is_gone and taken not in (None, person):
            assert answer == {"errno": 1000}
            return
        assert answer["errno"] == 0
        person.mail = mail or person.mail
        self._become(person, role)

    @rule(person=people)
    def ban_by_its_page(self, person: Person) -> None:
        answer = self.ask("DELETE", f"/user/{person.id}")
        assert (answer["errno"] == 1000) == person.is_gone
        if not person.is_gone and person.role == "unverified":
            self._lose(person)
        else:
            self._become(person, "banned")

    def _become(self, person: Person, role: Role) -> None:
        if person.is_gone:
            return
        if role != person.role:
            person.tokens.clear()
        person.role = role
        (self.banned.add if role == "banned" else self.banned.discard)(person.id)

    def _lose(self, person: Person) -> None:
        person.is_gone = True
        person.tokens.clear()
        self.banned.discard(person.id)
        self.accounts.pop(person.id, None)

    @rule(person=people)
    def remove(self, person: Person) -> None:
        caller = Caller(Viewer(ROOT))
        assert (
            self.run(banning.remove(self.site.service.accounts, person.id, caller))
            != person.is_gone
        )
        self._lose(person)

    # Bans.

    @rule(value=st.one_of(people, st.sampled_from((*MAILS, "192.0.2.7", "2001:db8::1"))))
    def ban(self, value: Person | str) -> None:
        text = value.id if isinstance(value, Person) else value
        answer = self.ask("POST", "/ban", {"value": text})
        if isinstance(value, Person):
            assert (answer["errno"] == 1000) == value.is_gone
            self._become(value, "banned")
            return
        owner = self.owner(value)
        if owner and owner.role == "administrator":
            assert answer["errno"] == 1000
        else:
            self.banned.add(value_of(text))

    @rule(value=st.one_of(people, st.sampled_from((*MAILS, "192.0.2.7", "2001:db8::1"))))
    def lift(self, value: Person | str) -> None:
        text = value.id if isinstance(value, Person) else value
        answer = self.ask("DELETE", "/ban", {"value": text})
        assert answer["data"]["lifted"] == (value_of(text) in self.banned)
        self.banned.discard(value_of(text))
        if isinstance(value, Person) and value.role == "banned":
            self._become(value, "guest")

    # Comments.

    @rule(person=people, times=st.integers(1, TRUST_AFTER))
    def write_and_be_approved(self, person: Person, times: int) -> None:
        """Have a comment approved, which makes an author trusted."""
        if (token := self.log_in_as(person)) is None:
            return
        for _ in range(times):
            said = self.post_with(token, person.mail, has_token=True)
            if isinstance(said, Said):
                self.change_status(said, "approved")

    @rule(target=comments, token=tokens, mail=st.sampled_from(MAILS), has_token=st.booleans())
    def post(self, token: Token, mail: str, has_token: bool) -> Any:
        return self.post_with(token, mail, has_token=has_token)

    def post_with(self, token: Token, mail: str, *, has_token: bool) -> Any:
        draft = {"comment": f"text {next(_texts)}", "url": "/p", "nick": "N", "mail": mail}
        person = token.person
        is_known = has_token and token.text in person.tokens
        work = self.site.send("POST", "/api/comment", draft, by=token.text if has_token else None)
        answer = self.run(work)
        given = canonical(person.mail if is_known else mail)
        is_exempt = is_known and person.role == "administrator"
        names = {given, *([person.id] if has_token else ())}
        if names & self.banned and not is_exempt:
            assert answer["errmsg"] == "You can no longer write here"
            return multiple()
        account = person.id if is_known else ""
        approved = sum((each.account, each.status) == (account, "approved") for each in self.said)
        is_trusted = bool(account) and approved >= TRUST_AFTER
        status = "approved" if is_exempt or is_trusted else "waiting"
        assert (answer["data"]["status"], answer["data"].get("user_id", "")) == (status, account)
        said = Said(answer["data"]["objectId"], account, "" if account else mail, status)
        self.said.append(said)
        return said

    @rule(comment=comments, status=st.sampled_from(("approved", "waiting", "spam")))
    def moderate(self, comment: Said, status: str) -> None:
        self.change_status(comment, status)

    def change_status(self, comment: Said, status: str) -> None:
        self.ask("PUT", f"/comment/{comment.id}", {"status": status})
        comment.status = status

    # Erasure.

    @rule(who=st.one_of(people, st.sampled_from(MAILS)), is_deleted=st.booleans())
    def erase(self, who: Person | str, is_deleted: bool) -> None:
        text = who.id if isinstance(who, Person) else who
        person = who if isinstance(who, Person) else self.owner(who)
        has_account = person is not None and not person.is_gone
        mail = "" if isinstance(who, Person) else who
        if person and has_account:
            mail = person.mail
        ids = {person.id} if person and (has_account or isinstance(who, Person)) else set()
        theirs = [
            each
            for each in self.said
            if each.account in ids or (each.mail and canonical(each.mail) == canonical(mail))
        ]
        data = self.ask("DELETE" if is_deleted else "PUT", "/author", {"who": text})["data"]
        assert data == {"comments": len(theirs), "damaged": 0, "account": has_account}
        for their in theirs:
            their.account, their.mail, their.is_gone = "", "", is_deleted
        self.said = [each for each in self.said if not each.is_gone]
        self.banned -= {canonical(mail), *ids}
        if person and has_account:
            self._lose(person)

    # Invariants.

    @rule(token=tokens)
    def whoever_has_a_token_is_who_it_says(self, token: Token) -> None:
        data = self.ask("GET", "/token", by=token.text)["data"]
        person = token.person
        if token.text in person.tokens:
            assert (data["objectId"], data["email"], data["type"]) == (
                person.id,
                person.mail,
                person.role,
            )
        else:
            assert data == {}

    @invariant()
    def the_keys_agree_with_each_other(self) -> None:
        if hasattr(self, "site"):
            self._compare_lists()
            assert self.run(report(self.site.store))[:-1] == []

    def _compare_lists(self) -> None:
        bans = self.ask("GET", "/ban?pageSize=100")["data"]["data"]
        assert {ban["value"] for ban in bans} == self.banned
        users = self.ask("GET", "/user?pageSize=100&page=1")["data"]["data"]
        assert {user["objectId"]: user["type"] for user in users if user["objectId"] != "root"} == {
            account.id: account.role for account in self.accounts.values()
        }
        queue = self.ask("GET", "/comment?type=list&pageSize=100")["data"]["data"]
        assert {each["objectId"]: each["status"] for each in queue} == {
            each.id: each.status for each in self.said
        }


# Not on fakeredis, where a check cannot ask which server it is.
@pytest.mark.parametrize(("server", "examples"), [("valkey", 40), ("redis", 10)])
def test_no_sequence_of_changes_disagrees_with_the_model(server: str, examples: int) -> None:
    play(Accounts, server, examples)
