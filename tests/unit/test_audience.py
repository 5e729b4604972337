"""What a visitor's browser says that it is."""

import pytest

from footfall.statistics.audience import Audience, by_kind, language_of, told

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
ANDROID = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 "


@pytest.mark.parametrize(
    ("agent", "wanted"),
    [
        (f"{WINDOWS}Chrome/140.0.0.0 Safari/537.36", ("Chrome", "Windows", "desktop")),
        (f"{WINDOWS}Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", ("Edge", "Windows", "desktop")),
        (f"{WINDOWS}Chrome/138.0.0.0 Safari/537.36 OPR/122.0", ("Opera", "Windows", "desktop")),
        (f"{ANDROID}Chrome/140.0.0.0 Mobile Safari/537.36", ("Chrome", "Android", "phone")),
        (f"{ANDROID}Chrome/140.0.0.0 Safari/537.36", ("Chrome", "Android", "tablet")),
        (
            f"{ANDROID}SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
            ("Samsung Internet", "Android", "phone"),
        ),
        (f"{IPHONE}Version/26.0 Mobile/15E148 Safari/604.1", ("Safari", "iOS", "phone")),
        (f"{IPHONE}CriOS/140.0 Mobile/15E148 Safari/604.1", ("Chrome", "iOS", "phone")),
        (f"{IPHONE}Mobile/15E148 MicroMessenger/8.0.62", ("WeChat", "iOS", "phone")),
        (
            "Mozilla/5.0 (iPad; CPU OS 16_1 like Mac OS X) AppleWebKit/605.1.15 FxiOS/140.0 Mobile",
            ("Firefox", "iPadOS", "tablet"),
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0",
            ("Firefox", "macOS", "desktop"),
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0",
            ("Firefox", "Linux", "desktop"),
        ),
        (
            "Mozilla/5.0 (Android 15; Tablet; rv:140.0) Firefox/140.0",
            ("Firefox", "Android", "tablet"),
        ),
        (
            "Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 Mobile",
            ("Safari", "HarmonyOS", "phone"),
        ),
        ("w3m/0.5.3", ("", "", "desktop")),
        ("\xff\x00" * 200, ("", "", "desktop")),
    ],
)
def test_a_browser_is_known_by_its_user_agent(agent: str, wanted: tuple[str, str, str]) -> None:
    packed = Audience(lambda address: address).packed(agent.encode("latin-1"), b"", "DE")
    assert tuple(packed.split(b"\r\n")[1].decode().split("\n")) == (*wanted, "DE", "", "")


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (b"de-AT,de;q=0.9,en;q=0.8", "de"),
        (b" EN", "en"),
        (b"zh-Hans-CN", "zh"),
        (b"fil-PH", ""),
        (b"*", ""),
        (b"", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_the_language_is_the_first_that_is_accepted(accepted: bytes, language: str) -> None:
    assert language_of(accepted) == language


def test_fewer_than_five_of_a_kind_are_others() -> None:
    assert told({"de": 9, "en": 5, "fr": 4, "": 2}) == [("de", 9), ("en", 5), ("", 6)]
    assert told({"de": 5}) == [("de", 5)]
    assert told({}) == []


def test_what_is_stored_and_not_known_is_left_out() -> None:
    assert by_kind([("size phone", 2), ("shoes 43", 1), ("x", 1)])["size"] == {"phone": 2}
