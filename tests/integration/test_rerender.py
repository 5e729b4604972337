"""`footfall comments rerender` renders comments by today's rules, and changes nothing else."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from redis import Redis

from footfall.comments.store import codec
from footfall.ids import SHORT, split
from footfall.maintenance import rerender as rerender_module
from footfall.maintenance.rerender import Tally, What, rerender
from footfall.model import StoredComment
from footfall.process.renderer import RenderedText
from footfall.render.pictures import Pictures
from footfall.stores import data_set
from tests.conftest import ADMIN, BOB, EVERYWHERE, Site, Sites
from tests.support.serving import Serving, serving

ON = EVERYWHERE

CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/120.0.0.0 Safari/537.36"
)
OLD = "<p>as it was made long ago</p>"


async def age(site: Site, id: str, **fields: Any) -> None:
    """Turn a stored comment into what another version would have stored."""
    short, page = split(id)
    store = site.store
    key = store.keys.page(page, "bodies")
    (body,) = await store.redis.ask(("HGET", key, short))
    lines = body.split(b"\n")
    for at, line in enumerate(lines[:4]):
        found = orjson.loads(b"{" + line + b"}")
        lines[at] = codec.inner({name: fields.get(name, found[name]) for name in found})
    await store.redis.change(("HSET", key, short, b"\n".join(lines)))


async def run(site: Site, *paths: str, complaints: list[str] | None = None, **what: bool) -> Tally:
    shares = list[float]()
    heard = list[str]() if complaints is None else complaints
    tally = await rerender(
        site.service.comments,
        data_set(site.store),
        site.store.bodies,
        paths,
        What(**what),
        on_progress=lambda _, share: shares.append(share),
        complain=heard.append,
    )
    assert complaints is not None or not heard
    assert all(0 <= share <= 1 for share in shares)
    return tally


async def test_old_comments_are_rendered_again_and_the_others_left_alone(site: Site) -> None:
    old = await site.post("**old**")
    await site.reply(old, "new")
    await site.post("elsewhere", url="/q")
    await age(site, old["objectId"], comment=OLD)
    before = await site.http.get("/api/comment?path=/p")
    assert OLD in before.text
    assert await run(site, is_dry=True) == Tally(pages=2, comments=3, changed=1)
    assert (await site.http.get("/api/comment?path=/p")).text == before.text
    assert await run(site) == Tally(pages=2, comments=3, changed=1)
    (root,) = (await site.page())["data"]
    assert (root["comment"], root["orig"]) == ("<p><strong>old</strong></p>\n", "**old**")
    after = await site.http.get("/api/comment?path=/p")
    assert after.headers["etag"] != before.headers["etag"]
    assert await run(site) == Tally(pages=2, comments=3)


async def test_likes_pins_statuses_and_authors_stay(make_site: Sites) -> None:
    site = await make_site(COMMENT_AUDIT="true")
    ids = []
    for n in range(8):
        posted = await site.post(f"root {n}", by=BOB if n % 2 else None, ua=CHROME, url=f"/{n % 3}")
        ids.append(posted["objectId"])
        if n % 4:
            await site.send("PUT", f"/comment/{ids[-1]}", {"status": "approved"}, by=ADMIN)
            await site.send("PUT", f"/comment/{ids[-1]}", {"like": True})
        if n == 5:
            await site.send("PUT", f"/comment/{ids[-1]}", {"sticky": 1}, by=ADMIN)
    before = [await site.page(f"/{n}", by=ADMIN) for n in range(3)]
    for id in ids:
        await age(site, id, comment=OLD)
    assert await run(site, agents=True, avatars=True) == Tally(pages=3, comments=8, changed=8)
    assert [await site.page(f"/{n}", by=ADMIN) for n in range(3)] == before


async def test_browsers_and_avatars_stay_as_they_were_unless_asked_for(site: Site) -> None:
    id = (await site.post("hello", ua=CHROME))["objectId"]
    (before,) = (await site.page())["data"]
    stale = {"browser": "Old", "os": "Older", "avatar": "https://old.example/a.png"}
    await age(site, id, **stale)
    assert (await run(site)).changed == 0
    for agents, names in ((True, ("browser", "os")), (False, ("avatar",))):
        assert (await run(site, agents=agents, avatars=not agents)).changed == 1
        (now,) = (await site.page())["data"]
        stale = {name: value for name, value in stale.items() if name not in names}
        assert now == before | stale


async def test_one_article_can_be_rendered_alone(site: Site) -> None:
    for path in ("/p", "/q"):
        await age(site, (await site.post("hello", url=path))["objectId"], comment=OLD)
    complaints = list[str]()
    tally = await run(site, "/q", "/nowhere", complaints=complaints)
    assert tally == Tally(pages=1, comments=1, changed=1)
    assert complaints == ["there are no comments on /nowhere"]
    assert OLD in (await site.page("/p"))["data"][0]["comment"]
    assert OLD not in (await site.page("/q"))["data"][0]["comment"]


async def test_a_comment_that_changes_meanwhile_is_left_as_it_is(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [(await site.post(str(n)))["objectId"] for n in range(3)]
    for id in ids:
        await age(site, id, comment=OLD)
    make_all = site.service.process.renderer.make_all

    async def slow(texts: Sequence[tuple[str, str]], pictures: Pictures) -> list[RenderedText]:
        if texts[0][0] == "1":
            await age(site, ids[1], comment="<p>edited</p>", orig="edited")
            await site.send("PUT", f"/comment/{ids[0]}", {"like": True})
        return await make_all(texts, pictures)

    monkeypatch.setattr(site.service.process.renderer, "make_all", slow)
    assert await run(site) == Tally(pages=1, comments=3, changed=2, overtaken=1)
    found = {each["objectId"]: each for each in (await site.page())["data"]}
    assert found[ids[1]]["comment"] == "<p>edited</p>"
    assert (found[ids[0]]["comment"], found[ids[0]]["like"]) == ("<p>0</p>\n", 1)


@pytest.mark.rare
async def test_a_long_page_is_done_in_steps_whatever_its_comments_weigh(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for n in range(200):
        ids.append((await site.post(f"{n} " + "x" * 600))["objectId"])
        await age(site, ids[-1], comment=OLD * (2000 if n % 50 == 0 else 1))
    sizes, replace = list[int](), site.store.bodies.replace

    async def counted(page: str, changes: Sequence[Any], now: int) -> int:
        sizes.append(sum(len(change.before) + len(change.after) for change in changes))
        assert len(changes) == 1 or sizes[-1] <= rerender_module.STEP_BYTES
        return await replace(page, changes, now)

    monkeypatch.setattr(site.store.bodies, "replace", counted)
    assert await run(site) == Tally(pages=1, comments=200, changed=200)
    assert len(sizes) > 4


async def test_damaged_comments_are_named_and_the_others_done(site: Site) -> None:
    ids = [(await site.post(str(n)))["objectId"] for n in range(5)]
    store = site.store
    key = store.keys.page(ids[0][SHORT:], "bodies")
    damages = (b"", b"no json", b"\n\n\n\n", b'"nick":1\n"comment":2,"orig":3\n\n\n')
    for id, damage in zip(ids, damages, strict=False):
        await store.redis.change(("HSET", key, id[:SHORT], damage))
    await age(site, ids[4], comment=OLD)
    complaints = list[str]()
    assert (await run(site, complaints=complaints)).changed == 1
    assert len(complaints) == 4
    for id in ids[:4]:
        assert any(id[:SHORT] in complaint for complaint in complaints)


async def test_every_body_is_the_same_when_made_of_the_comment_that_is_read_from_it(
    make_site: Sites,
) -> None:
    site = await make_site()
    root = await site.post("root", ua=CHROME, link="https://ann.example")
    await site.reply(root, 'réply \u2028 \\ "', by=BOB)
    bare = {"comment": "bare", "url": "/p"}
    await site.send("POST", "/api/comment", bare)
    store, page = site.store, root["objectId"][SHORT:]
    step = await store.comments.copy(page, "0", "", 100, [])
    assert len(step.comments) == 3
    for short, body, private, *_ in step.comments:
        parsed = codec.parse_body(body)
        comment = codec.comment(
            StoredComment(short.decode() + page, step.path, parsed, private=private)
        )
        assert (codec.body(comment), codec.secrets(comment)) == (body, private)


class TestCommand:
    """As an operator runs it, while a service with the private server runs."""

    def test_it_says_what_it_did_and_what_it_would_do(self, own: Path) -> None:
        with serving(own / "s") as served:
            assert served.output_of("comments", "rerender") == (
                3,
                "nothing to do: there are no comments\n",
            )
            for n in range(3):
                post(served, str(n))
            assert served.output_of("comments", "rerender", "--dry-run") == (
                3,
                "nothing to do: 3 comments on 1 page would stay the same\n",
            )
            with Redis(unix_socket_path=str(own / "s" / "data" / "redis.sock")) as client:
                (key,) = client.keys("*:bodies")
                for id, body in list(client.hgetall(key).items())[:2]:
                    client.hset(key, id, body.replace(b"<p>", b"<p>old "))
            assert served.output_of("comments", "rerender", "--dry-run") == (
                0,
                "2 of 3 comments on 1 page would change; nothing was written\n",
            )
            assert served.output_of("comments", "rerender") == (
                0,
                "2 of 3 comments on 1 page changed\n",
            )
            assert served.output_of("comments", "rerender", "--page", "/nowhere") == (
                1,
                "there are no comments on /nowhere\nnothing to do: there are no comments\n",
            )
            page = httpx.get(f"{served.url}/comment?path=/p").json()
            assert sorted(root["comment"] for root in page["data"]) == [
                f"<p>{n}</p>\n" for n in range(3)
            ]

    def test_it_makes_no_data_set(self, own: Path) -> None:
        code, said = Serving(own / "t").ask("comments", "rerender")
        assert code == 1
        assert "there is no data set" in said
        assert not (own / "t" / "data").exists()


def post(served: Serving, text: str) -> None:
    answer = httpx.post(f"{served.url}/comment", json={"comment": text, "url": "/p"})
    assert answer.json()["errno"] == 0


async def test_two_at_once_do_it_once(site: Site) -> None:
    for n in range(40):
        await age(site, (await site.post(str(n)))["objectId"], comment=OLD)
    both = await asyncio.gather(run(site), run(site))
    assert sum(each.changed for each in both) == 40
    assert (await run(site)).changed == 0
