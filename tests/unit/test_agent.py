"""The strings are of real browsers, but for the client's "NT 11.0" and the hostile ones."""

import pytest

from service.render.agent import MAX_LENGTH, REMEMBERED, _describe, describe

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"

KNOWN = {
    # The first is in the recordings.
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/120.0.0.0 Safari/537.36": (
        *("Chrome120.0", "Linux"),
    ),
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/120.0.0.0 Safari/537.36": (
        *("Chrome120.0", "Windows 10"),
    ),
    f"Mozilla/5.0 (Windows NT 11.0; Win64; x64) {WEBKIT} Chrome/120.0.0.0 Safari/537.36": (
        *("Chrome120.0", "Windows 11.0"),
    ),
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {APPLE} Version/17.2 Safari/605.1.15": (
        *("Safari17.2", "Mac OS X 10.15"),
    ),
    f"Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) {APPLE} Version/17.2 Mobile/15E148"
    " Safari/604.1": ("Mobile Safari17.2", "iOS 17.2"),
    f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT} Chrome/120.0.6099.144 Mobile"
    " Safari/537.36": ("Chrome Mobile120.0", "Android 14"),
    "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0": (
        *("Firefox121.0", "Linux"),
    ),
}


@pytest.mark.parametrize(("ua", "described"), KNOWN.items())
def test_a_known_browser_is_named_with_its_version(ua: str, described: tuple[str, str]) -> None:
    assert describe(ua) == described


@pytest.mark.parametrize("ua", ["", " ", "nonsense", "\x00", "漢字", "Mozilla/5.0", "(" * 5_000])
def test_what_is_unknown_is_empty(ua: str) -> None:
    assert describe(ua) == ("", "")


@pytest.mark.parametrize("piece", ["a", "(;", "Mozilla/5.0 (", "/1.", "Version/1 Safari ", ") "])
def test_a_hostile_string_gets_a_short_answer(piece: str) -> None:
    browser, system = describe(piece * 10_000)
    assert len(browser + system) <= 2 * MAX_LENGTH


def test_only_so_many_strings_are_remembered() -> None:
    assert _describe.cache_info().maxsize == REMEMBERED
