"""By which path a page is counted, however a client spells it."""

import pytest

from footfall.pages import RULES, PageNames, decode_uri

# What ECMAScript's decodeURI makes of them, as browsers and Node.js do; "" where it throws.
DECODED = {
    "/a": "/a",
    "/2020/%E4%BD%A0%E5%A5%BD/": "/2020/你好/",
    "/2020/%e4%bd%a0%E5%A5%BD/": "/2020/你好/",
    "/2020/你%E5%A5%BD/": "/2020/你好/",
    "/a%20b%21%7e": "/a b!~",
    "/%F0%9F%98%80": "/😀",
    "/a%00b": "/a\0b",
    # What is decoded once may be decoded again, and is not.
    "/%2541": "/%41",
    # Reserved characters stay as they were written.
    "/a%2Fb%2f": "/a%2Fb%2f",
    "%3B%2F%3F%3A%40%26%3D%2B%24%2C%23": "%3B%2F%3F%3A%40%26%3D%2B%24%2C%23",
    "%E4%BD%A0%2F%E5%A5%BD": "你%2F好",
    # Broken ones.
    "/100%": "",
    "/%": "",
    "/%4": "",
    "/%zz/%41": "",
    "/%E4%BD": "",
    "/%E4%2F%BD%A0": "",
    "/%FF": "",
    "/%C0%80": "",
    "/%ED%A0%80": "",
    "/%F4%90%80%80": "",
    "/%80%41": "",
}


@pytest.mark.parametrize("text", DECODED)
def test_a_path_is_decoded_as_ecmascript_does_and_a_broken_one_stays(text: str) -> None:
    assert decode_uri(text) == (DECODED[text] or text)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ("", ["/a/", "/a", "/a/index.html", "https://ff.example/a"]),
        ("slash", ["/a/", "/a"]),
        ("index", ["/a/", "/a/index.html", "/a/index.htm", "/a/INDEX.html"]),
        ("index slash", ["/a/", "/a", "/a/index.html"]),
        ("host", ["/a", "https://ff.example/a", "http://other.example/a", "//ff.example/a"]),
        ("host slash", ["/", "https://ff.example", "//ff.example/", "https://ff.example/"]),
        (
            "host index slash",
            ["/a?b=1", "/a/?b=1", "/a/index.html?b=1", "https://ff.example:8443/a/index.html?b=1"],
        ),
    ],
)
def test_rules_make_one_page_of_several_addresses(rules: str, names: list[str]) -> None:
    found = {PageNames(rules.split()).of(name) for name in names}
    assert len(found) == (1 if rules else len(names))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "text", ["", "/", "//", "a", "site-pv", "/index", "/aindex.html", "/a/index.html5", "?", "#/a"]
)
def test_what_a_rule_does_not_mean_stays(rule: str, text: str) -> None:
    found = PageNames([rule]).of(text)
    assert found == text or (rule, text, found) == ("host", "//", "/")


def test_a_name_made_once_stays_as_it_is() -> None:
    names = PageNames([*RULES]).of
    for text in ("/a//", "https://ff.example//a/index.html", "/index.html", "/a/index.html/"):
        assert names(names(text)) == names(text), text
