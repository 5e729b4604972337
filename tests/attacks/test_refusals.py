"""Refusals: what somebody learns from one, or is not told by it."""

from typing import Any

import pytest

from footfall import errors
from tests.conftest import ADMIN, Site, Sites

OWNER = {"display_name": "Owner", "email": "owner@example.com", "password": "the owner's own"}
DRAFT = {"comment": "hello", "url": "/p", "nick": "Ann", "mail": "ann@example.com"}
# How languages say when to come back.
WAITS = {"en": "in ", "de": "in ", "ru": "через ", "zh-CN": "后", "ja": "後", "pt-BR": "em "}


async def test_a_reader_who_is_refused_and_not_told_for_how_long(make_site: Sites) -> None:
    """Who: a reader, in a language other than English. What: comments twice, or sends the same
    again, and is told in half a sentence that it did not work, so tries on and on. Instead: the
    reference's first words, which clients may look for, and then in the reader's language when to
    try again or what to do."""
    site = await make_site(IPQPS="60")
    await site.post("hello")
    for language, wait in WAITS.items():
        answer = await site.send("POST", f"/api/comment?lang={language}", DRAFT | {"comment": "2"})
        first, rest = answer["errmsg"].split("! ")
        assert (first, wait in rest) == ("Comment too fast", True), answer
    site.clock.now += 3_600_000
    answer = await site.send("POST", "/api/comment?lang=de", DRAFT)
    assert answer["errmsg"].startswith("Doppelter Inhalt gesendet: ")


async def test_whoever_tries_too_often_is_told_when_to_come_back(make_site: Sites) -> None:
    """Who: somebody who has forgotten which password it was. What: tries until no attempt is left,
    and is told to wait "1 minutes", in English. Instead: the wait in their language, with its
    plural, and the same in Retry-After."""
    site = make_site.without_accounts()
    person = {"email": OWNER["email"], "password": "a guess", "code": ""}

    async def attempt(language: str) -> Any:
        return await site.http.post(f"/api/token?lang={language}", json=person)

    answer = await attempt("ru")
    for _ in range(200):
        if "retry-after" in answer.headers:
            break
        answer = await attempt("ru")
    seconds = int(answer.headers["retry-after"])
    said = answer.json()["errmsg"]
    assert said.startswith("Слишком много попыток: попробуйте ещё раз через ")
    assert str(seconds) in said or "минут" in said


@pytest.mark.parametrize(
    "language", ["../admin/de", "../../../../etc/passwd", "de/../de", "de\0", "de-" * 3000, "xx"]
)
async def test_a_language_that_is_the_name_of_a_file(make_site: Sites, language: str) -> None:
    """Who: anybody. What: sends as `lang` the path of another file, a NUL or a very long text, as
    translations are read from files. Instead: only the languages that there are have a file; all
    else gets English, or the start of it that is a language's."""
    site = await make_site(LOGIN="force")
    answer = await site.http.post("/api/comment", params={"lang": language}, json=DRAFT)
    assert answer.status_code == 401
    assert answer.json()["errmsg"] in (errors.Unauthorized.text, "Bitte zuerst anmelden")


async def test_a_new_account_that_hides_behind_old_ones(make_site: Sites) -> None:
    """Who: somebody who registers where hundreds have before. What: relies on it that the owner
    looks at page one, and new accounts are on the last. Instead: the newest comes first."""
    site = make_site.without_accounts()
    await site.send("POST", "/api/user", OWNER)
    by = (await site.send("POST", "/api/token", OWNER))["data"]["token"]
    for n in range(4):
        site.clock.now += 1000
        await site.send("POST", "/api/user", OWNER | {"email": f"{n}@example.com"})
    mails = []
    for page in (1, 2, 3):
        found = (await site.get("/api/user", by=by, page=page, pageSize=2))["data"]["data"]
        mails += [each["email"] for each in found]
    assert mails == [*(f"{n}@example.com" for n in (3, 2, 1, 0)), OWNER["email"]]


@pytest.mark.parametrize("fields", [{}, {"comment": ""}, {"nick": "", "ua": "x"}, {"like": 7}])
async def test_a_tool_that_asks_for_no_change(site: Site, fields: dict[str, Any]) -> None:
    """Who: an administrator's tool, or somebody who has its token for a moment. What: sends edits
    without anything to change, takes the comment in the answer for a change, and sees its email.
    Instead: `""`, as for Waline, and neither the page nor the log has a new entry."""
    id = (await site.post("hello"))["objectId"]
    version = await site.store.comments.version("/p")
    answer = await site.send("PUT", f"/api/comment/{id}", fields, by=ADMIN)
    assert answer == {"errno": 0, "errmsg": "", "data": ""}
    assert await site.store.comments.version("/p") == version
