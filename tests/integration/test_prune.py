"""`footfall counters`: what an operator sees and removes, and what no command removes."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footfall.data.store import Store
from footfall.driver.scripts import Scripts
from footfall.maintenance import prune
from footfall.maintenance.prune import MatchingCounters, remove, remove_named
from footfall.statistics.store import Views
from tests.conftest import EVERYWHERE
from tests.support.serving import Serving, serving

LONG = "/spam/" + "long" * 100


@pytest.fixture
def served(own: Path, data_set: dict[str, str]) -> Iterator[Serving]:
    with serving(own / "s", **data_set) as served:
        for path, count in (("/a", 3), ("/b", 1), ("/spam/1", 2), ("/spam/2", 1), (LONG, 1)):
            for _ in range(count):
                httpx.post(f"{served.url}/article", json={"path": path}).raise_for_status()
        httpx.post(f"{served.url}/article", json={"path": "/a", "type": "reaction0"})
        yield served


def ask(served: Serving, *words: str, code: int = 0) -> list[str]:
    """The output of a command, without the line about the data set."""
    found, output = served.ask("counters", *words)
    assert found == code, output
    said = output.splitlines()
    assert said[0].startswith("Data set: "), output
    return said[1:]


def counts(served: Serving) -> list[int]:
    asked = {"path": ["/a", "/b", "/spam/1", "/spam/2", LONG]}
    found: list[int] = httpx.get(f"{served.url}/article", params=asked).json()
    return found


def test_the_highest_counts_are_listed(served: Serving) -> None:
    said = ask(served, "list", "--top", "2")
    assert [line.split() for line in said[:2]] == [["3", "time", "/a"], ["2", "time", "/spam/1"]]
    assert said[2].startswith("6 of 6 counters, about ")
    said = ask(served, "list", "--type", "reaction0")
    assert said[0].split() == ["1", "reaction0", "/a"]
    assert said[1].startswith("1 of 6 counters, ")
    assert ask(served, "list", "/nothing*") == ["none of 6 counters is like that"]


def test_nothing_is_removed_without_yes(served: Serving) -> None:
    before = counts(served)
    for words in (("delete", "*"), ("prune", "--below", "1000")):
        said = ask(served, *words)
        assert said[-2].startswith("would be removed: 6 of 6 counters")
        assert said[-1] == "Nothing was removed; --yes does it."
        assert counts(served) == before


def test_counters_are_removed_by_pattern_while_the_service_goes_on(served: Serving) -> None:
    (said,) = ask(served, "delete", "/spam/*", "--yes")
    assert said.startswith("removed 3 counters, about ")
    assert counts(served) == [3, 1, 0, 0, 0]
    (said,) = ask(served, "delete", "/spam/*", "--yes", code=3)
    assert said == "nothing to do: none of 3 counters is like that"
    assert httpx.post(f"{served.url}/article", json={"path": "/spam/1"}).json() == 1


def test_low_counts_are_removed_and_a_pattern_narrows_that(served: Serving) -> None:
    (said,) = ask(served, "prune", "--below", "2", "/spam/*", "--yes")
    assert said.startswith("removed 2 counters")
    assert counts(served) == [3, 1, 2, 0, 0]
    (said,) = ask(served, "prune", "--below", "3", "--type", "time", "--yes")
    assert said.startswith("removed 2 counters")
    assert counts(served) == [3, 0, 0, 0, 0]
    assert httpx.get(f"{served.url}/article?path=/a&type=reaction0").json() == 1


def test_commands_say_if_nothing_matches(own: Path, data_set: dict[str, str]) -> None:
    nowhere = Serving(own / "n")
    code, output = nowhere.ask("counters", "prune", "--below", "2")
    assert (code, "there is no data set in DATA_DIR" in output) == (1, True)
    assert not (own / "n" / "data").exists()
    with serving(own / "e", **data_set) as empty:
        for words in (("prune", "--below", "2"), ("delete", "*", "--yes")):
            assert ask(empty, *words, code=3) == ["nothing to do: there are no counters"]
    code, output = nowhere.ask("counters", "delete")
    assert (code, "Missing argument" in output) == (2, True)


def test_after_a_removal_new_counters_are_accepted_again(
    own: Path, data_set: dict[str, str]
) -> None:
    with serving(own / "f", COUNTER_LIMIT="21", **data_set) as served:
        for n in range(3):
            assert httpx.post(f"{served.url}/article", json={"path": f"/{n}"}).json() == 1
        full = httpx.post(f"{served.url}/article", json={"path": "/new"}).json()
        assert full["errno"] == 1000
        ask(served, "delete", "/[12]", "--yes")
        served.stop()
        served.start()
        assert httpx.post(f"{served.url}/article", json={"path": "/new"}).json() == 1


@pytest.mark.rare
@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_counters_are_removed_by_name_also_if_they_rise_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/{n}" for n in range(600)]
    names = [f"time {path}" for path in paths]
    await store.counters.add([(path, "time", 1) for path in [*paths, "/other"]])
    rising = iter(paths[:5])

    async def removed(scripts: Scripts, views: Views, part: MatchingCounters) -> int:
        for path in rising:
            await store.counters.add([(path, "time", 1)])
        return await remove(scripts, views, part)

    monkeypatch.setattr(prune, "remove", removed)
    unknown = ["time /unknown"]
    assert (
        await remove_named(store.redis, store.scripts, store.keys, store.views, names + unknown)
        == 600
    )
    assert await store.counters.read([*names, "time /other"]) == [0] * 600 + [1]
