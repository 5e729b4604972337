"""What the administrators' pages show of the service: counters, log, settings, state."""

from typing import Any

import pytest

from footfall.notify.notification import NotDelivered
from footfall.process.process import now_ms
from footfall.routes import TABLE
from footfall.table.prefixes import UI
from tests.conftest import ADMIN, BOB, Site, Sites
from tests.support.admin_ui import SENT, last
from tests.support.receivers import receiver
from tests.web.test_outbox import Recorder, deliver

# What a request must have.
BODIES = {
    "import": [],
    "counter_correct": {"path": "/a", "from": 0, "to": 1, "reason": "x"},
    "user_invite": {"email": "new@example.com"},
    "closing_change": {"path": "/a", "days": 0},
    "page_move": {"path": "/a", "to": "/b"},
    "outbox_retry": {"ids": ["1-1"]},
    "outbox_drop": {"ids": ["1-1"]},
    "outbox_try": {},
    "queue_bulk": {"do": "spam", "ids": ["0" * 32]},
    "queue_bulk_undo": {"name": "x"},
    "bin_restore": {"ids": ["0" * 32]},
    "bin_remove": {"ids": ["0" * 32]},
    "queue_reply": {"pid": "x", "comment": "x"},
    "queue_preview": {"comment": "x"},
}
QUERIES = {"queue_bulk_read": "?name=x"}
# Nothing has the name that they ask for.
REFUSED = ("queue_bulk_read", "queue_bulk_undo", "queue_reply")


async def asked(site: Site, method: str, path: str, body: Any = None, by: str = ADMIN.id) -> Any:
    """Send a request of the account whose token this is, as a cookie."""
    headers = {**SENT, "cookie": f"footfall={by}"}
    return last(await site.http.request(method, f"/ui/api/{path}", json=body, headers=headers))


async def test_the_operations_are_for_administrators_on_the_services_admin_ui(site: Site) -> None:
    own = [row for row in TABLE if row.prefixes == (UI,)]
    assert own
    for row in own:
        path = row.path.removeprefix("/") + QUERIES.get(row.route, "")
        body = BODIES.get(row.route)
        assert (await asked(site, row.method, path, body, by="nobody"))["errno"] == 401, row.route
        assert (await asked(site, row.method, path, body, by=BOB.id))["errno"] == 403, row.route
        expected = 1000 if row.route in REFUSED else 0
        assert (await asked(site, row.method, path, body))["errno"] == expected, row.route
        for prefix in ("", "/api"):
            assert (await site.http.request(row.method, f"{prefix}{row.path}")).status_code == 404


async def test_the_highest_counters_are_found_step_by_step(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footfall.counting.store.STEP_HASHES", 100)
    long = "/post/" + "long" * 50
    for path, times in (("/post/1", 3), ("/about", 5), (long, 2), ("/Post/2", 1)):
        await site.send("POST", "/api/article", [{"path": path}] * times)
    await site.count("/post/1", type="reaction0")
    found, after, steps = set(), 0, 0
    while True:
        part = (await asked(site, "GET", f"counters?keyword=POST&type=time&after={after}"))["data"]
        found |= {(each["count"], each["path"]) for each in part["data"]}
        steps, after = steps + 1, part["after"]
        if not after:
            break
    assert found == {(1, "/Post/2"), (2, long), (3, "/post/1")}
    assert (steps, part["share"]) == (-(-(256 + 8 * 256) // 100), 1)


async def test_the_pages_read_most_are_found_by_the_first_step(
    make_site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await make_site(STATISTICS="views")
    site.clock.now = now_ms()
    monkeypatch.setattr("footfall.counting.store.STEP_HASHES", 1)
    for n in range(20):
        await site.count(f"/post/{n}")
    for words, number in (("post/1", 11), ("POST/19", 1), ("about", 0)):
        part = (await asked(site, "GET", f"counters?keyword={words}&type="))["data"]
        assert len(part["data"]) == number
        assert part["after"] == 1
    await site.store.counters.correct("/post/19", "time", -1)
    assert (await asked(site, "GET", "counters?keyword=post/19"))["data"]["data"] == []


async def test_a_step_ends_where_many_counters_have_been_read(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footfall.counting.store.STEP_COUNTERS", 1)
    for n in range(200):
        await site.count(f"/post/{n}")
    after, found = 0, 0
    while True:
        part = (await asked(site, "GET", f"counters?after={after}"))["data"]
        assert part["matching"] < 100
        found += part["matching"]
        if not (after := part["after"]):
            break
    assert found == 200


async def test_a_correction_adds_the_difference_and_says_why(site: Site) -> None:
    await site.send("POST", "/api/article", [{"path": "/a"}] * 7)
    assert (await asked(site, "GET", "counters?path=/a"))["data"]["counts"]["time"] == 7
    # Somebody views the page while the administrator types.
    await site.count("/a")
    body = {"path": "/a", "type": "time", "from": 7, "to": 3, "reason": "a robot"}
    assert (await asked(site, "PUT", "counters", body))["data"] == {"count": 4}
    (entry,) = (await asked(site, "GET", "log"))["data"]
    assert (entry["nick"], entry["did"], entry["id"]) == ("Admin", "correct", "time /a")
    assert (entry["was"], entry["now"]) == ("7", "3: a robot")
    body |= {"from": 0, "to": 100_000}
    assert (await asked(site, "PUT", "counters", body))["data"] == {"count": 100_004}


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": ""},
        {"path": "x" * 2049},
        {"type": "bogus"},
        {"from": "7"},
        {"to": -1},
        {"to": True},
        {"to": 2**53},
        {"to": 1.5},
        {"reason": ""},
        {"reason": "x" * 201},
    ],
)
async def test_a_correction_is_checked(site: Site, wrong: dict[str, Any]) -> None:
    body = {"path": "/a", "type": "time", "from": 7, "to": 3, "reason": "x", **wrong}
    answer = await asked(site, "PUT", "counters", body)
    assert (answer["errno"], answer["errmsg"].keys()) == (1001, wrong.keys())
    assert (await asked(site, "GET", "log"))["data"] == []


async def test_the_log_is_read_page_by_page(site: Site) -> None:
    posted = await site.post("hello")
    for status in ("spam", "approved", "waiting"):
        await site.send("PUT", f"/api/comment/{posted['objectId']}", {"status": status}, by=ADMIN)
    first = (await asked(site, "GET", "log?pageSize=2"))["data"]
    assert [each["now"] for each in first] == ["waiting", "approved"]
    assert {(each["url"], each["orig"]) for each in first} == {("/p", "hello")}
    second = (await asked(site, "GET", f"log?pageSize=2&before={first[-1]['entry']}"))["data"]
    assert [each["now"] for each in second] == ["spam"]
    for wrong in ("x", "1-x", "-", "٣-٣"):
        assert (await asked(site, "GET", f"log?before={wrong}"))["errno"] == 1001


async def test_the_settings_in_force_have_no_secrets(make_site: Sites) -> None:
    secrets = {"JWT_TOKEN": "s3cret", "SETUP_CODE": "s3cret", "AVATAR_KEY": "s3cret"}
    site = await make_site(
        FORBIDDEN_WORDS="viagra,casino{1,3}",
        TRUSTED_PROXIES="10.0.0.0/8",
        DEMO="no",
        SECURE_DOMAINS="site.test,/blog/",
        LEVELS="0,10",
        **secrets,
    )
    answer = await asked(site, "GET", "settings")
    assert "s3cret" not in str(answer)
    values = {each["name"]: each["value"] for each in answer["data"]}
    assert [values[name] for name in secrets] == ["***"] * 3
    assert values["FORBIDDEN_WORDS"] == "viagra,casino{1,3}"
    assert values["TRUSTED_PROXIES"] == "10.0.0.0/8"
    assert (values["DEMO"], values["LEVELS"], values["PORT"]) == ("false", "0,10", "8360")


async def test_the_state_of_service_and_redis_is_shown(site: Site, kind: str) -> None:
    await site.count("/a")
    state = (await asked(site, "GET", "state"))["data"]
    assert state["durability"] == "memory"
    assert state["requests"] >= 1
    assert state["failed"] == 0
    assert state["seconds"]["+Inf"] == state["requests"]
    if kind != "fake":
        assert state["stored"]["counters"]["number"] == 1
        assert {int(each["used"]) > 0 for each in state["servers"]} == {True}
    assert state["versions"].keys() == {"footfall", "python"}
    assert isinstance(state["problems"], list)


async def test_tasks_that_were_given_up_are_sent_again_or_dropped(make_site: Sites) -> None:
    make_site.store.outbox.is_on = True
    site = await make_site()
    for text in ("one", "two"):
        await site.post(text)
    failing: list[Exception] = [NotDelivered("550 <nobody>", is_final=True)] * 2
    await deliver(site, Recorder(failures=failing))
    found = (await asked(site, "GET", "outbox"))["data"]
    assert (found["isOn"], found["undelivered"]) == (True, 2)
    first, second = (each["entry"] for each in found["data"])
    assert {each["error"] for each in found["data"]} == {"550 <nobody>"}
    assert (await asked(site, "PUT", "outbox", {"ids": [first, "1-1"]}))["data"]["count"] == 1
    assert (await asked(site, "DELETE", "outbox", {"ids": [second]}))["data"]["count"] == 1
    channel = Recorder()
    await deliver(site, channel)
    assert len(channel.heard) == 1
    assert (await asked(site, "GET", "outbox"))["data"]["data"] == []


@pytest.mark.parametrize("ids", [None, [], "1-1", ["x"], ["1-1"] * 101, [1], ["9" * 41]])
async def test_ids_of_no_entry_are_refused(site: Site, ids: Any) -> None:
    for method in ("PUT", "DELETE"):
        answer = await asked(site, method, "outbox", {"ids": ids})
        assert (answer["errno"], list(answer["errmsg"])) == (1001, ["ids"])


async def test_a_trial_reports_the_other_sides_answers(make_site: Sites) -> None:
    with receiver() as hook:
        hook.answer = lambda path, body: (418, b"teapot")
        site = await make_site(WEBHOOK=hook.url)
        answer = await asked(site, "POST", "outbox", {})
        assert answer["data"] == {"webhook": "status 418: teapot"}
        assert (await asked(site, "POST", "outbox", {"to": "nobody"}))["errno"] == 1001
