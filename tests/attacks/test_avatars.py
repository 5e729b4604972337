"""Addresses of avatars, which are public, and made of what strangers and operators wrote."""

from hashlib import md5, sha256

from footfall.render.avatar import compile_avatar


def test_mails_tried_out_against_an_avatar() -> None:
    """Who: a reader who wonders whose comment it is. What: hashes the mails of those it may be, and
    looks for the hash in the avatar's address. Instead: by default that works, as with the
    reference, and the settings say so; with AVATAR_KEY and the filter keyed no address has a hash
    of the mail alone."""
    mail = "bob@example.com"
    hashes = {hash(mail.encode()).hexdigest() for hash in (md5, sha256)}
    known = compile_avatar("", "")("Bob", mail, "")
    assert any(each in known for each in hashes)
    keyed = compile_avatar("https://p/{{mail|keyed}}", "", "a secret")("Bob", mail, "")
    assert not any(each in keyed for each in hashes)


def test_a_name_that_leaves_the_address() -> None:
    """Who: an author. What: takes a name with quotes, tags, braces of templates or another query,
    for a site that puts names into addresses. Instead: what could end the attribute is encoded, and
    no part of a name is ever a template."""
    avatar = compile_avatar("https://p/{{nick}}?s=1", "")
    assert avatar("\"><img onerror='a'>", "", "") == (
        "https://p/%22%3E%3Cimg%20onerror=%27a%27%3E?s=1"
    )
    assert avatar("{{mail}}{% if 1 %}", "a@b.example", "") == (
        "https://p/%7B%7Bmail%7D%7D%7B%%20if%201%20%%7D?s=1"
    )


def test_a_name_that_keeps_an_expression_busy() -> None:
    """Who: an author, on a site whose template tests names by a regular expression. What: takes a
    name that such an expression would try in a billion ways. Instead: RE2 reads each letter once.
    """
    avatar = compile_avatar("{% if r/^(a|a)*$/.test(nick) %}a{% else %}b{% endif %}", "")
    assert avatar("a" * 127 + "!", "", "") == "b"
