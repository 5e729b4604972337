"""Where visitors come from, by addresses that strangers send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall import hosts
from footfall.hosts import MAX_HOST_CHARACTERS, host_name, source_of
from footfall.owner.source_names import name_of
from footfall.statistics.sources import campaign_of, origin_of

LABEL = "a" * 63


@pytest.mark.parametrize(
    ("referer", "source"),
    [
        ("https://www.google.com/", "google.com"),
        ("https://news.ycombinator.com/item?id=1", "news.ycombinator.com"),
        ("http://T.CO/abc#x", "t.co"),
        ("HTTPS://Example.COM:8443?q=/", "example.com"),
        ("https://user:secret@example.com:80/", "example.com"),
        ("https://evil.example@example.com", "example.com"),
        ("https://example.com./", "example.com"),
        ("https://www.com/", "www.com"),
        ("https://www.example/", "www.example"),
        ("https://www.www.example.com/", "www.example.com"),
        ("https://localhost:3000/", "localhost"),
        ("https://my_shop.example.com/", "my_shop.example.com"),
        ("https://192.0.2.1:80/", "192.0.2.1"),
        ("https://[2001:DB8::0:1]:8080/", "2001:db8::1"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://example.com/Bücher", "example.com"),
        (" https://example.com/a b", "example.com"),
        ("https://example.com ", "example.com"),
        ("https://example.com\\@evil.example/", "example.com"),
        ("android-app://com.google.android.gm/", "com.google.android.gm"),
        ("android-app://com.Slack", "com.slack"),
        (f"https://{LABEL}.{LABEL}.{LABEL}.{LABEL[:61]}/", f"{LABEL}.{LABEL}.{LABEL}.{LABEL[:61]}"),
    ],
)
def test_the_source_is_the_host(referer: str, source: str) -> None:
    assert source_of(referer) == source_of(referer.encode()) == source


@pytest.mark.parametrize(
    "referer",
    [
        "",
        "null",
        "about:blank",
        "example.com",
        "/relative",
        "//example.com/",
        "https:/example.com/",
        "https:///path",
        "https://",
        "https://:80/",
        "https://@/",
        "https://.../",
        "https://a..b/",
        "https://-a.example/",
        "https://a-.example/",
        "https://<script>/",
        "https://ex ample.com@/",
        "https://a\x00b/",
        "https://a%2eb/",
        "https://[::1/",
        "https://[nonsense]/",
        "https://[fe80::1%eth0]/",
        "https://[" + ":" * 500 + "]/",
        "https://\u202egnp.example\u2028/",
        f"https://{LABEL}a.example/",
        f"https://{LABEL}.{LABEL}.{LABEL}.{LABEL}/",
        "https://bücher.example/",
        "https://" + "ü" * 200 + ".example/",
        "https://" + "a" * 1_000_000,
        "https://" + "a@" * 100_000 + "example.com/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "data:text/html,https://example.com/",
        "file:///etc/passwd",
        "android-app://gm/",
        "android-app://com.1/",
        "android-app://com." + "a" * 100_000,
        "android-app://" + ".".join(["a" * 90] * 5),
        "ios-app://123/",
    ],
)
def test_what_is_no_address_of_a_page_is_no_source(referer: str) -> None:
    assert source_of(referer) == source_of(referer.encode()) == ""


def test_bytes_that_are_no_text_are_no_source() -> None:
    assert source_of(b"https://b\xfccher.example/") == ""
    assert source_of(b"https://example.com/\xff") == "example.com"


@pytest.mark.parametrize("host", ["example.com", "www.example.com", "EXAMPLE.com:8080"])
def test_a_page_of_the_site_itself_is_no_source(host: str) -> None:
    assert source_of(f"https://{host}/a", {host_name("www.Example.com")}) == ""


def test_a_site_with_letters_of_its_language_knows_its_pages() -> None:
    assert host_name("www.Bücher.example") == "xn--bcher-kva.example"
    assert source_of("https://xn--bcher-kva.example/", {host_name("Bücher.example")}) == ""
    assert host_name("ü" * 200 + ".example") == ""


def test_a_host_below_the_site_is_another() -> None:
    assert source_of("https://shop.example.com/", {"example.com"}) == "shop.example.com"


@given(st.text(max_size=80), st.sampled_from(["https://", "http://x.", "android-app://a.", ""]))
def test_a_source_is_short_and_can_be_shown(text: str, start: str) -> None:
    source = source_of(start + text)
    assert len(source) <= MAX_HOST_CHARACTERS
    assert source.isascii()
    assert not set(source) & set("<>\"'&/\\ \0")
    assert source == source.lower()


@given(st.text(max_size=80))
def test_a_host_is_named_once(text: str) -> None:
    """What is stored can be compared with what is named again."""
    host = host_name(text)
    if ":" not in host and not host.startswith("www."):
        assert host_name(host) == host


@pytest.mark.parametrize("referrer", ["中" * 253, "例え.example", "\udcff", "x" * 2_000])
def test_a_referrer_that_no_browser_sends_is_none(
    referrer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To encode one would take as long as hundreds of views.
    monkeypatch.setattr(hosts, "_punycode", None)
    assert origin_of(referrer, (), is_automated=False).source == ""


@pytest.mark.parametrize(
    ("address", "campaign"),
    [
        ("/a?utm_source=newsletter", "newsletter"),
        ("/a?x=1&utm_campaign=Spring%20Sale#c", "spring-sale"),
        ("/a?ref=news.ycombinator.com", "news.ycombinator.com"),
        ("/a?href=x", ""),
        ("/a?utm_source=", ""),
        ("/a?utm_source=%3Cscript%3E", ""),
        ("/a?utm_source=%E4%BD%A0", ""),
        ("/utm_source=x", ""),
        (None, ""),
        (["/a?ref=x"], ""),
    ],
)
def test_a_campaign_is_what_a_link_names(address: object, campaign: str) -> None:
    assert campaign_of(address) == campaign


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("google.com", "Google"),
        ("www.google.co.uk", "Google"),
        ("google.de", "Google"),
        ("google.example.com", ""),
        ("notgoogle.com", ""),
        ("out.reddit.com", "Reddit"),
        ("notreddit.com", ""),
        ("news.ycombinator.com", "Hacker News"),
        ("ycombinator.com", ""),
        ("newsletter", ""),
        ("", ""),
    ],
)
def test_a_host_has_the_name_by_which_people_know_it(host: str, name: str) -> None:
    assert name_of(host) == name
