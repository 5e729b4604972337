"""Hashes marked recorded are those of the reference; the others are of the filters' own text."""

import pytest

from service.render.avatar import DEFAULT_TEMPLATE, compile_avatar, proxied

RECORDED = {
    "me@example.com": "2e0d5407ce8609047b8255c50405d7b1",
    "admin@example.com": "e64c7d89f26bd1972efa854d13d7dd61",
    "n0@x.com": "1a2f2207b8dd6b2836537072da99d351",
    "": "d41d8cd98f00b204e9800998ecf8427e",
}

# For nick " Bob & co", mail " Me@Example.com", link "https://bob.example/a b".
TEMPLATES = {
    "": "https://seccdn.libravatar.org/avatar/2e0d5407ce8609047b8255c50405d7b1",
    "https://p/{{ mail | md5 }}?d=mp": "https://p/2e0d5407ce8609047b8255c50405d7b1?d=mp",
    "{{mail|trim|lower|md5}}": "2e0d5407ce8609047b8255c50405d7b1",
    "{{mail|sha256}}": "8c2a47d3bdb8d3096a6479f53eac3b724291db5f1c31611100f675be5537329d",
    "https://p/{{nick|trim|urlencode}}": "https://p/Bob%20%26%20co",
    "https://p/{{nick|trim|lower}}": "https://p/bob%20&%20co",
    "{{link}}.png": "https://bob.example/a%20b.png",
    "https://p/fixed.png": "https://p/fixed.png",
}

MISTAKEN = {
    "{{email|md5}}": "avatar template: 'email' is none of nick, mail, link",
    "{{}}": "avatar template: '' is none of nick, mail, link",
    "{{mail|sha1}}": "avatar template: 'sha1' is none of md5, sha256, lower, trim, urlencode",
    "{{mail|md5(1)}}": "avatar template: 'md5(1)' is none of md5, sha256, lower, trim, urlencode",
    "a{{mail": "avatar template: '{{' is not understood in 'a{{mail'",
    "a}}": "avatar template: '}}' is not understood in 'a}}'",
    "{% if mail %}a": "avatar template: '{%' is not understood in '{% if mail %}a'",
}


@pytest.mark.parametrize(("mail", "digest"), RECORDED.items())
def test_the_default_is_the_recorded_picture_of_the_mail(mail: str, digest: str) -> None:
    address = f"https://seccdn.libravatar.org/avatar/{digest}"
    assert compile_avatar(DEFAULT_TEMPLATE, "")("nick", mail, "") == address


@pytest.mark.parametrize(("template", "address"), TEMPLATES.items())
def test_a_template_is_filled(template: str, address: str) -> None:
    avatar = compile_avatar(template, "")
    assert avatar(" Bob & co", " Me@Example.com", "https://bob.example/a b") == address


@pytest.mark.parametrize(("template", "words"), MISTAKEN.items())
def test_a_template_that_is_not_understood_says_where(template: str, words: str) -> None:
    with pytest.raises(ValueError) as refusal:
        compile_avatar(template, "")
    assert str(refusal.value) == words


def test_a_proxy_is_asked_for_the_encoded_address() -> None:
    avatar = compile_avatar("https://p/{{nick}}?s=1", "https://proxy.example/image")
    assert avatar("bob", "", "") == "https://proxy.example/image?url=https%3A%2F%2Fp%2Fbob%3Fs%3D1"


def test_a_name_cannot_leave_its_attribute() -> None:
    address = compile_avatar("https://p/{{nick}}", "")("\"><b onerror='a'>", "", "")
    assert address == "https://p/%22%3E%3Cb%20onerror=%27a%27%3E"


def test_no_picture_is_not_proxied() -> None:
    assert proxied("", "https://proxy.example") == ""
