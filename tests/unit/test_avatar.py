"""Hashes that are marked as recorded come from Waline; the others are of the text itself."""

import re

import pytest

from footfall.config import BadSettings, Settings
from footfall.render.avatar import compile_avatar
from footfall.stores import open_process, open_store
from tests.support.sites import site_of

RECORDED = {
    "me@example.com": "2e0d5407ce8609047b8255c50405d7b1",
    "admin@example.com": "e64c7d89f26bd1972efa854d13d7dd61",
    "n0@x.com": "1a2f2207b8dd6b2836537072da99d351",
    "": "d41d8cd98f00b204e9800998ecf8427e",
}

# Results for nick " Bob & co", email " Me@Example.com" and link "https://bob.example/a b".
TEMPLATES = {
    "": "https://seccdn.libravatar.org/avatar/2e0d5407ce8609047b8255c50405d7b1",
    "https://p/{{ mail | md5 }}?d=mp": "https://p/2e0d5407ce8609047b8255c50405d7b1?d=mp",
    "{{mail|trim|lower|md5}}": "2e0d5407ce8609047b8255c50405d7b1",
    "{{mail|sha256}}": "8c2a47d3bdb8d3096a6479f53eac3b724291db5f1c31611100f675be5537329d",
    "https://p/{{nick|trim|urlencode}}": "https://p/Bob%20%26%20co",
    "https://p/{{nick|trim|lower}}": "https://p/bob%20&%20co",
    "{{link}}.png": "https://bob.example/a%20b.png",
    "{% if nick === 'x' %}a{% elseif link %}b{% endif %}": "b",
    "https://p/{{ mail | replace('@', '/') | default('x') }}": "https://p/me/example.com",
    "https://p/fixed.png": "https://p/fixed.png",
}

QQ = "https://q1.qlogo.cn/g?b=qq&nk={}&s=100"
LIBRAVATAR = "https://seccdn.libravatar.org/avatar/{}"
# The templates in Waline's source, and in its documentation for operators.
OF_THE_REFERENCE = """{%- set numExp = r/^[0-9]+$/g -%}
{%- set qqMailExp = r/^[0-9]+@qq.com$/ig -%}
{%- if numExp.test(nick) -%}
  https://q1.qlogo.cn/g?b=qq&nk={{nick}}&s=100
{%- elif qqMailExp.test(mail) -%}
  https://q1.qlogo.cn/g?b=qq&nk={{mail|replace('@qq.com', '')}}&s=100
{%- else -%}
  https://seccdn.libravatar.org/avatar/{{mail|md5}}
{%- endif -%}"""
PEOPLE = {
    ("10001", "me@example.com"): QQ.format("10001"),
    ("Bob", "10002@qq.com"): QQ.format("10002"),
    ("Bob", " 10002@QQ.com"): QQ.format("10002"),
    ("10001", "10002@qq.com"): QQ.format("10001"),
    ("Bob1", "me@example.com"): LIBRAVATAR.format(RECORDED["me@example.com"]),
    ("Bob", "bob10@qq.com"): LIBRAVATAR.format("a9ba8e9ed9e86bddf754f74704642ab5"),
    ("", ""): LIBRAVATAR.format(RECORDED[""]),
}

MISTAKEN = {
    "{{email|md5}}": "'email' is none of nick, mail, link",
    "{{}}": "the template cannot be read: Expected an expression, got 'end of print statement'",
    "{{mail|sha1}}": "the template cannot be read: No filter named 'sha1'.",
    "{{mail|md5(1)}}": "the template cannot be filled in: ",
    "a{{mail": "the template cannot be read: unexpected end of template",
    "{% if mail %}a": "the template cannot be read: Unexpected end of template.",
    "{% if r/(/.test(mail) %}a{% endif %}": "the template cannot be filled in: ",
    "{% for n in range(1000000000) %}a{% endfor %}": "'range' is none of nick, mail, link",
    "{{mail|keyed}}": "the template cannot be filled in: the filter keyed needs an AVATAR_KEY",
}


@pytest.mark.parametrize("template", ["", OF_THE_REFERENCE], ids=["default", "reference"])
@pytest.mark.parametrize(("person", "address"), PEOPLE.items())
def test_numbers_have_the_pictures_of_qq(
    template: str, person: tuple[str, str], address: str
) -> None:
    nick, mail = person
    assert compile_avatar(template, "")(nick, mail, "") == address


def test_a_keyed_avatar_does_not_tell_the_mail() -> None:
    template = "https://p/{{mail|keyed}}?d=identicon"
    one, other = (compile_avatar(template, "", key) for key in ("a secret", "another"))
    addresses = {one("", mail, "") for mail in ("a@b.example", "A@b.example ", "c@d.example")}
    assert len(addresses) == 2
    assert one("", "a@b.example", "") != other("", "a@b.example", "")
    assert re.fullmatch(r"https://p/[0-9a-f]{64}\?d=identicon", one("", "a@b.example", ""))


@pytest.mark.parametrize(("mail", "digest"), RECORDED.items())
def test_the_default_is_the_recorded_picture_of_the_mail(mail: str, digest: str) -> None:
    address = f"https://seccdn.libravatar.org/avatar/{digest}"
    assert compile_avatar("", "")("nick", mail, "") == address


@pytest.mark.parametrize(("template", "address"), TEMPLATES.items())
def test_a_template_is_filled_in(template: str, address: str) -> None:
    avatar = compile_avatar(template, "")
    assert avatar(" Bob & co", " Me@Example.com", "https://bob.example/a b") == address


@pytest.mark.parametrize(("template", "words"), MISTAKEN.items())
def test_the_error_of_a_bad_template_says_where_it_is(template: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        compile_avatar(template, "")


def test_a_proxy_is_asked_for_the_encoded_address() -> None:
    avatar = compile_avatar("https://p/{{nick}}?s=1", "https://proxy.example/image")
    assert avatar("bob", "", "") == "https://proxy.example/image?url=https%3A%2F%2Fp%2Fbob%3Fs%3D1"


def test_an_address_at_the_proxy_is_not_proxied_again() -> None:
    template = "https://proxy.example/image?url=https%3A%2F%2Fp"
    assert compile_avatar(template, "https://proxy.example/image")("bob", "", "") == template


def test_a_name_is_not_evaluated_as_an_expression() -> None:
    avatar = compile_avatar("{% if r/^(a+)+$/.test(nick) %}a{% else %}b{% endif %}", "")
    assert avatar("a" * 128 + "!", "", "") == "b"


def test_a_template_that_fails_for_one_author_gives_no_picture() -> None:
    avatar = compile_avatar("https://p/{{ 1 // (nick|length - 7) }}", "")
    assert (avatar("Bob", "", ""), avatar("7 chars", "", "")) == ("https://p/-1", "")


def test_a_name_cannot_leave_its_attribute() -> None:
    address = compile_avatar("https://p/{{nick}}", "")("\"><b onerror='a'>", "", "")
    assert address == "https://p/%22%3E%3Cb%20onerror=%27a%27%3E"


def test_a_keyed_template_without_a_key_stops_the_start() -> None:
    settings = Settings.from_env({"GRAVATAR_STR": "https://p/{{mail|keyed}}"})
    with pytest.raises(BadSettings, match="GRAVATAR_STR=.*the filter keyed needs an AVATAR_KEY"):
        site_of(settings, open_store(settings, open_process(settings, "redis://127.0.0.1")))
