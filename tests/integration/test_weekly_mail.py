"""The email about a week, from a real service by a real mail server."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.receivers import mail_server
from tests.support.servers import RealServer, program_of, running, wait_until
from tests.support.serving import Serving, serving


@pytest.fixture
def server(kind: str, own: Path) -> Iterator[RealServer]:
    with running(program_of(kind), own / "r") as server:
        yield server


def test_each_recipient_gets_one_email_a_week_from_all_services(
    own: Path, server: RealServer
) -> None:
    with mail_server() as mails:
        settings = {
            "REDIS_URL": server.url,
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(mails.port),
            "SENDER_EMAIL": "footfall@example.com",
            "SITE_NAME": "Blog",
            "WEEKLY_MAIL": "mara@example.com, ben@example.com",
            "SERVER_URL": "https://comments.example",
            "STATISTICS": "views",
        }
        with serving(own / "a", **settings), serving(own / "b", **settings) as other:
            came = mails.wait(2)
            assert {to for to, _ in came} == {"mara@example.com", "ben@example.com"}
            assert {str(mail["Subject"]) for _, mail in came} == {"Blog: 0 views last week"}
            assert len({str(mail["To"]) for _, mail in came}) == 2
            httpx.post(f"{other.url}/api/article", json={"path": "/a"})
        # Another start tells nobody again of this week; had it done so, that would come first.
        with serving(own / "a", **settings), server.admin() as admin:
            wait_until(lambda: admin.xlen("ff:{site}:outbox") == 0, "an empty outbox")
            admin.set("ff:{site}:weekly", 20200106)
            mails.wait(4)
            wait_until(lambda: admin.xlen("ff:{site}:outbox") == 0, "an empty outbox")
        assert len(mails.came) == 4


def test_it_needs_a_mail_server(own: Path) -> None:
    code, output = Serving(own, WEEKLY_MAIL="mara@example.com").ask("serve")
    assert code != 0
    assert "WEEKLY_MAIL: needs SMTP_HOST or SMTP_SERVICE, and statistics" in output
