"""The strings are those of real browsers, except the client's "NT 11.0" and the hostile ones."""

from pathlib import Path

import pytest

from footfall.render.agent import MAX_CACHED, MAX_CHARACTERS, _describe, describe

# One line each: browser and system as ua-parser-js 2.0.9, Waline's library, names
# them, and the string. The first two are in the recordings. Left out are those few that it names
# differently: crawlers, an Android of 2013, game consoles.
NAMED = [
    line.split("\t") for line in (Path(__file__).parent / "agents.tsv").read_text().splitlines()
]


@pytest.mark.parametrize(("browser", "system", "ua"), NAMED)
def test_a_browser_is_named_as_the_reference_names_it(browser: str, system: str, ua: str) -> None:
    assert describe(ua) == (browser, system)


def test_the_names_are_those_of_many_browsers() -> None:
    browsers = {browser.rstrip("0123456789.") for browser, _, _ in NAMED}
    assert len(NAMED) > 100
    assert len(browsers) > 35
    assert {"Mobile Chrome", "WeChat", "Mobile Safari", "Edge", "QQBrowser"} <= browsers


@pytest.mark.parametrize("ua", ["", " ", "nonsense", "\x00", "漢字", "Mozilla/5.0", "(" * 5_000])
def test_an_unknown_agent_has_no_names(ua: str) -> None:
    assert describe(ua) == ("", "")


@pytest.mark.parametrize(
    "piece", ["a", "(;", "Mozilla/5.0 (", "/1.", "Version/1 Safari ", ") ", "QQ/1", "linux "]
)
def test_a_hostile_string_gets_a_short_answer(piece: str) -> None:
    browser, system = describe(piece * 10_000)
    assert len(browser + system) <= 2 * MAX_CHARACTERS


def test_the_cache_of_strings_is_bounded() -> None:
    assert _describe.cache_info().maxsize == MAX_CACHED
