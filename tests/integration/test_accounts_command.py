"""`footfall accounts`: the first administrator on a server, and a lost password."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from footfall.errors import LastAdministrator
from tests.support.serving import Serving, serving


@pytest.fixture
def served(own: Path, data_set: dict[str, str]) -> Iterator[Serving]:
    with serving(own / "s", SERVER_URL="https://comments.example", **data_set) as served:
        yield served


def ask(served: Serving, *words: str, fails: bool = False) -> list[str]:
    """The output of a command, without the line about the data set."""
    code, output = served.ask("accounts", *words)
    assert bool(code) == fails, output
    said = output.splitlines()
    assert said[0].startswith("Data set: "), output
    return said[1:]


def send(served: Serving, method: str, path: str, body: Any, token: str = "") -> Any:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, served.url + path, json=body, headers=headers).json()


def set_password(served: Serving, said: list[str], password: str) -> Any:
    """Set the password as the page of the link does."""
    (link,) = (line for line in said if line.startswith("https://"))
    address, _, token = link.partition("#")
    assert address == "https://comments.example/ui/forgot"
    page = httpx.get(f"{served.url}/ui/forgot")
    assert (page.status_code, "Set a password" in page.text) == (200, True)
    return send(served, "PUT", "/api/user/password", {"token": token, "password": password})


def log_in(served: Serving, mail: str, password: str) -> Any:
    return send(served, "POST", "/api/token", {"email": mail, "password": password})


def test_the_first_administrator_is_made_on_the_server(served: Serving) -> None:
    assert ask(served, "list") == [
        "there are no accounts: create one with `footfall accounts add MAIL --administrator`"
    ]
    warnings = httpx.get(f"{served.url}/readyz").json()["warnings"]
    assert (
        "there is no administrator yet: the first account registered at /ui/register becomes one"
        in warnings
    )
    said = ask(served, "add", "mara@example.com", "--administrator", "--nick", "Mara")
    assert httpx.get(f"{served.url}/readyz").json()["warnings"] == []
    assert log_in(served, "mara@example.com", "") == {"errno": 1000}
    assert set_password(served, said, "mara's own")["errno"] == 0
    assert log_in(served, "mara@example.com", "mara's own")["data"]["type"] == "administrator"
    assert set_password(served, said, "another one")["errmsg"] == "TOKEN_EXPIRED"


@pytest.mark.rare
def test_a_lost_password_is_set_by_a_link(served: Serving) -> None:
    # Another person is first and no administrator, as the owner decided.
    set_password(served, ask(served, "add", "mara@example.com"), "mara's own")
    said = ask(served, "password", "MARA@example.com")
    assert log_in(served, "mara@example.com", "mara's own")["errno"] == 0
    assert set_password(served, said, "mara's other")["errno"] == 0
    assert log_in(served, "mara@example.com", "mara's own") == {"errno": 1000}
    assert log_in(served, "mara@example.com", "mara's other")["errno"] == 0


@pytest.mark.rare
def test_roles_change_while_the_service_goes_on(served: Serving) -> None:
    set_password(served, ask(served, "add", "mara@example.com", "--administrator"), "mara's own")
    set_password(served, ask(served, "add", "tom@example.com"), "tom's own")
    shown = log_in(served, "tom@example.com", "tom's own")["data"]

    def who() -> Any:
        return httpx.get(
            f"{served.url}/api/token", headers={"authorization": f"Bearer {shown['token']}"}
        ).json()["data"]

    assert who()["type"] == "guest"
    assert ask(served, "ban", shown["objectId"]) == ["tom@example.com is banned now"]
    assert who() == {}
    assert log_in(served, "tom@example.com", "tom's own") == {"errno": 1000}
    ask(served, "unban", "tom@example.com")
    ask(served, "promote", "tom@example.com")
    assert log_in(served, "tom@example.com", "tom's own")["data"]["type"] == "administrator"
    ask(served, "demote", "mara@example.com")
    (said,) = ask(served, "demote", "tom@example.com", fails=True)
    assert said == f"Error: {LastAdministrator.text}"
    roles = [orjson.loads(line)["type"] for line in ask(served, "list", "--json")]
    assert sorted(roles) == ["administrator", "guest"]


def test_bans_hold_for_the_next_comment(served: Serving) -> None:
    def post() -> Any:
        draft = {"comment": f"hello {len(refused)}", "url": "/p", "mail": "Ann@example.com"}
        return send(served, "POST", "/api/comment", draft)

    def bans(*words: str, fails: bool = False) -> list[str]:
        code, output = served.ask("bans", *words)
        assert bool(code) == fails, output
        return output.splitlines()[1:]

    refused = list[Any]()
    assert bans("list") == ["nobody is banned"]
    (said,) = bans("add", "ann@EXAMPLE.com", "--for", "7d", "--reason", "spam")
    assert said.startswith("banned: ann@example.com  mail  2")
    refused.append(post())
    assert refused[0]["errmsg"].startswith("You cannot write here until 2")
    (line,) = bans("list", "--json")
    assert orjson.loads(line)["reason"] == "spam"
    assert bans("remove", "Ann@example.com") == ["Ann@example.com is no longer banned"]
    assert post()["errno"] == 0
    assert bans("remove", "Ann@example.com", fails=True) == [
        "nothing to do: Ann@example.com is not banned; `footfall bans list` shows all"
    ]
    (said,) = bans("add", "127.0.0.1", fails=True)
    assert said == "Error: This is a trusted proxy's address. Ban the visitors' addresses instead."
    assert "use 30m, 12h" in served.ask("bans", "add", "192.0.2.1", "--for", "soon")[1]
    assert "in the past" in served.ask("bans", "add", "192.0.2.1", "--until", "2001-01-01")[1]
    code, output = served.ask("log", "--json")
    assert [orjson.loads(line)["did"] for line in output.splitlines()[1:]] == ["unban", "ban"]


def test_an_author_is_shown_exported_and_erased(served: Serving) -> None:
    def authors(*words: str, fails: bool = False) -> list[str]:
        code, output = served.ask("authors", *words)
        assert bool(code) == fails, output
        return output.splitlines()[1:]

    ask(served, "add", "mara@example.com", "--administrator")
    ask(served, "add", "ann@example.com")
    for n in range(2):
        draft = {"comment": f"hello {n}", "url": "/p", "mail": "Ann@Example.com"}
        send(served, "POST", "/api/comment", draft)
        served.ask("bans", "add", "ann@example.com")
        served.ask("bans", "remove", "ann@example.com")
    account, number, times = authors("show", "ann@example.com")
    assert (account.split()[2:], number) == (
        ["guest", "ann@example.com", "ann"],
        "2 comments on 1 page: 2 approved",
    )
    *lines, said = authors("export", "ANN@example.com")
    kinds = [next(iter(orjson.loads(line))) for line in lines]
    assert (kinds, said) == (["account", "comment", "comment"], "3 lines written")
    said = authors("anonymize", "ann@example.com")[-1]
    assert said == "would be made anonymous. Nothing was done; --yes does it."
    assert authors("anonymize", "ann@example.com", "--yes") == [
        "2 comments made anonymous; the account is deleted"
    ]
    nothing = ["Error: there is nothing of ann@example.com"]
    for words in (("show",), ("export",), ("anonymize", "--yes")):
        assert authors(*words, "ann@example.com", fails=True) == nothing
    (said,) = authors("delete", "mara@example.com", "--yes", fails=True)
    assert said == f"Error: {LastAdministrator.text}"
    assert "ann@example.com" not in served.ask("log", "--json")[1]
    assert served.ask("check")[0] == 0


def test_an_account_is_deleted_only_with_yes(served: Serving) -> None:
    ask(served, "add", "mara@example.com", "--administrator")
    ask(served, "add", "tom@example.com")
    said = ask(served, "delete", "tom@example.com")
    assert (said[0].startswith("would be deleted: "), said[1]) == (
        True,
        "Nothing was done; --yes deletes it.",
    )
    assert len(ask(served, "list")) == 2
    (said_again,) = ask(served, "delete", "tom@example.com", "--yes")
    assert said_again.startswith("deleted: ")
    assert len(ask(served, "list")) == 1


def test_commands_say_what_is_wrong(served: Serving) -> None:
    assert ask(served, "ban", "nobody", fails=True) == [
        "Error: no account has the mail or id 'nobody'; `footfall accounts list` shows all"
    ]
    ask(served, "add", "tom@example.com")
    (said,) = ask(served, "add", "TOM@example.com", fails=True)
    assert said.startswith("Error: TOM@example.com has an account already")
    code, output = served.ask("accounts", "add", "no mail")
    assert (code, output.strip()) == (1, "Error: 'no mail' is not an email address")
