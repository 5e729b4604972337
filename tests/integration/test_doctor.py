"""`footfall doctor`: one page for a bug report, without secrets."""

import json
import re
import socket
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from redis import Redis

from footfall.cli import examination
from footfall.config import Settings
from footfall.driver import disk
from footfall.limits.floods import ADVICE
from tests.support.commands import invoke
from tests.support.logging_in import settings
from tests.support.providers import Provider
from tests.support.receivers import MailServer, Receiver
from tests.support.servers import wait_until
from tests.support.serving import Serving, serving

# What no page may have in it.
CANARY = "canary"


@pytest.fixture(autouse=True)
def _disk_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda directory: disk.Space(1 << 40, 2 << 40))


def doctor(environ: dict[str, str], *words: str) -> tuple[int, str]:
    done = invoke("doctor", *words, environ={"MAX_CONNECTIONS": "100", **environ})
    return done.exit_code, done.output


def stored_changes(served: Serving) -> int:
    """How many keys were changed since the start."""
    with Redis(unix_socket_path=f"{served.environ['DATA_DIR']}/redis.sock") as client:
        return int(client.info("persistence")["rdb_changes_since_last_save"])


def wrong(environ: dict[str, str]) -> list[str]:
    code, output = doctor(environ, "--json")
    found: Any = json.loads(output)["wrong"]
    assert code == bool(found)
    return list(found)


def test_a_healthy_service_is_examined_and_nobody_is_told(
    own: Path, mails: MailServer, hook: Receiver
) -> None:
    told = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mails.port),
        "WEBHOOK": hook.url,
        "SENDER_EMAIL": "from@blog.example",
        "SERVER_URL": "https://comments.example",
    }
    with serving(own / "s", **told) as served:
        environ = {**served.environ, "PORT": str(urlsplit(served.url).port)}
        served.ask("accounts", "add", "a@example.com", "--administrator")
        served.ask("backup", str(own / "backup.gz"))
        httpx.post(f"{served.url}/api/article", json={"path": "/a"})
        changes = list[int]()
        while changes[-1:] != [0]:
            # The service itself checks each minute that Redis can be written.
            assert len(changes) < 3, "it changes something"
            before = stored_changes(served)
            code, output = doctor(environ)
            changes.append(stored_changes(served) - before)
    assert code == 0, output
    for said in (
        "  KEY_PREFIX ff in DATA_DIR",
        "  Valkey ",
        "appendfsync always",
        "  1 counter, about ",
        "  1 account, 1 administrator",
        "  last backup: 2",
        ": ready",
        "127.0.0.1: reachable",
        "port {port}: reachable",
        "SENDER_EMAIL=***@blog.example",
        "No problems.",
    ):
        assert said.format(port=mails.port) in output
    assert (mails.came, hook.came) == ([], [])


def test_what_is_wrong_is_named_and_the_rest_is_examined(own: Path) -> None:
    environ = {
        "REDIS_URL": "redis://127.0.0.1:9",
        "WEBHOOK": "https://127.0.0.1:9/x",
        "REDIS_TIMEOT": "1",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": "9",
        "SENDER_EMAIL": "a@blog.example",
        "SERVER_URL": "https://comments.example",
        "MAX_CONNECTIONS": "999999",
    }
    found = wrong(environ)
    for said in (
        "REDIS_TIMEOT is not a setting",
        "too low for MAX_CONNECTIONS",
        "Redis does not answer",
        "WEBHOOK, 127.0.0.1: ",
        "mail server, 127.0.0.1 port 9: ",
    ):
        assert any(said in line for line in found), (said, found)
    assert wrong({"PORT": "many"})[0].startswith("PORT='many': ")


def test_a_server_that_says_nothing_is_not_waited_for(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "SERVER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        environ = {
            "WEBHOOK": f"https://127.0.0.1:{port}/x",
            "PORT": "9",
            "DATA_DIR": str(own / "d"),
        }
        assert "WEBHOOK, 127.0.0.1: no answer within 0.2 s" in wrong(environ)


def test_nothing_is_started_where_no_service_runs(own: Path) -> None:
    absent = own / "absent"
    code, output = doctor({"DATA_DIR": str(absent), "PORT": "9"})
    assert (code, absent.exists()) == (0, False)
    assert "no service runs on DATA_DIR" in output


def test_no_secret_is_on_the_page() -> None:
    def value(name: str) -> str:
        address = f"redis://ann:{CANARY}@127.0.0.1:9/0" if name == "REDIS_URL" else ""
        push = f"json://{CANARY}:{CANARY}@127.0.0.1:9/{CANARY}" if name == "NOTIFY_URLS" else ""
        is_hook = name in ("WEBHOOK", "JUDGE_WEBHOOK", "DISCORD_WEBHOOK", "LARK_WEBHOOK")
        hook = f"https://ann:{CANARY}@127.0.0.1:9/{CANARY}" if is_hook else ""
        return address or push or hook or f"{CANARY}-{name.lower()}"

    secret = [field.metadata["env"] for field in fields(Settings) if field.metadata.get("secret")]
    environ = {name: value(name) for name in secret if name != "QYWX_AM"}
    more = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": "9", "SENDER_EMAIL": f"{CANARY}@blog.example"}
    code, output = doctor({**environ, **more})
    assert (code, CANARY in output) == (1, False), output
    assert "SMTP_PASS=***" in output
    assert "SENDER_EMAIL=***@blog.example" in output
    unusable = doctor({**environ, **more, "PORT": "many"})[1]
    assert CANARY not in unusable
    assert "PORT='many'" in unusable


def test_a_wrong_password_of_the_mail_server_is_found(own: Path, mails: MailServer) -> None:
    served = Serving(
        own / "s",
        SMTP_HOST="127.0.0.1",
        SMTP_PORT=str(mails.port),
        SMTP_USER="ann@blog.example",
        SMTP_PASS="nobody's",
    )
    (said,) = [line for line in wrong(served.environ) if "mail server" in line]
    assert f"port {mails.port}: " in said
    assert "nobody's" not in said


def test_who_floods_is_named_with_the_limit(own: Path) -> None:
    attacker = {"x-forwarded-for": "192.0.2.7"}
    settings = {"COUNTER_RATE": "0.01", "WORKERS": "2", "TRUSTED_PROXIES": "127.0.0.1"}
    with serving(own / "s", **settings) as served:
        with httpx.Client(base_url=served.url, timeout=60, headers=attacker) as client:
            client.post("/article", json=[{"path": "/a"}] * 50)
            answers = [client.post("/article", json={"path": "/a"}) for _ in range(300)]
        assert answers[-1].status_code == 429
        wait_until(lambda: "192.0.2.7: " in doctor(served.environ)[1], "who floods is told")
        section = doctor(served.environ)[1].partition("\nWho floods\n")[2].splitlines()
    assert re.match(r"  192\.0\.2\.7: \d+ refusals in two minutes, \d+ by COUNTER_RATE", section[0])
    assert section[1] == f"  {ADVICE}"


def test_other_services_are_asked_about_a_token_that_is_valid_nowhere(
    own: Path, hook: Receiver, other: Provider
) -> None:
    said = {"captcha": b'{"success":false,"error-codes":["invalid-input-response"]}'}
    said["akismet"] = b"valid"
    hook.answer = lambda path, body: (200, said["akismet" if "verify-key" in path else "captcha"])
    environ = {
        **settings(other),
        "PORT": "9",
        "DATA_DIR": str(own / "d"),
        "TURNSTILE_SECRET": "0x4AAAA",
        "TURNSTILE_KEY": "key",
        "TURNSTILE_URL": hook.url,
        "AKISMET_KEY": "key",
        "AKISMET_URL": hook.url,
    }
    names = ("TURNSTILE_URL", "AKISMET_URL", "OAUTH_URL", "OIDC_ISSUER")
    code, output = doctor(environ)
    assert code == 0, output
    for name in names:
        assert f"{name}, 127.0.0.1: it knows this service" in output
    said["captcha"] = b'{"success":false,"error-codes":["invalid-input-secret"]}'
    said["akismet"] = b"invalid"
    other.services = []
    found = wrong({**environ, "OIDC_CLIENT_SECRET": "an old one"})
    for name, words in zip(
        names,
        ("invalid-input-secret: ", "'invalid': check", "without a list", "invalid_client"),
        strict=True,
    ):
        assert any(line.startswith(f"{name}, 127.0.0.1: ") and words in line for line in found), (
            name,
            found,
        )
    assert other.asked.count("/issuer/token") == 2
