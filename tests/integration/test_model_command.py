"""`footfall comments judge`: how a language model would have decided, beside what comments are."""

from pathlib import Path

import httpx

from tests.support.receivers import receiver
from tests.support.servers import wait_until
from tests.support.serving import serving
from tests.web.test_language_model import says, settings_of


def test_the_model_is_compared_with_what_comments_are(tmp_path: Path) -> None:
    with receiver() as server:
        server.answer = says({"verdict": "ham", "reason": "Fine."})
        with serving(tmp_path, **settings_of(server), IPQPS="0") as service:
            for n in range(3):
                draft = {"comment": f"words {n}", "url": "/p", "nick": f"Ann {n}"}
                httpx.post(f"{service.url}/api/comment", json=draft).raise_for_status()
            server.wait(3)
            # What the service asks of new comments is over: from now on, all of it is spam.
            number = f"{service.url}/api/comment?type=count&url=/p"
            wait_until(lambda: httpx.get(number).json()["data"] == [3], "three comments")
            server.answer = says({"verdict": "spam", "reason": "No."})
            code, output = service.ask("comments", "judge", "--last", "2")
            assert (code, output.splitlines()[-5:]) == (
                0,
                [
                    "2 comments, of which the model finds",
                    "      0 to be what they are",
                    "      2 to be spam that are approved",
                    "      0 to be no spam that are spam",
                    "      0 to be unsure",
                ],
            )
            server.answer = lambda path, body: (500, b"")
            code, output = service.ask("comments", "judge")
            assert (code, "3 without an answer: status 500" in output) == (1, True)
