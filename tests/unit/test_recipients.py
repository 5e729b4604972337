"""Whose mailbox an email comes into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.accounts.rules.mailboxes import recipient_of


@pytest.mark.parametrize(
    ("mail", "recipient"),
    [
        ("ann@example.com", "ann@example.com"),
        ("Ann+News@Example.COM", "ann@example.com"),
        ("a.nn@example.com", "a.nn@example.com"),
        ("a.nn+x@googlemail.com", "ann@gmail.com"),
        ("+ann@example.com", "+ann@example.com"),
        ("ann@xn--bcher-kva.example", "ann@bücher.example"),
        ("ann@BÜCHER.example", "ann@bücher.example"),
        ("root@localhost", "root@localhost"),
        ("ann@blog.local", "ann@blog.local"),
        ('"a b"@example.com', '"a b"@example.com'),
    ],
)
def test_a_mailbox_has_one_name(mail: str, recipient: str) -> None:
    assert recipient_of(mail) == recipient


@pytest.mark.parametrize(
    "mail", ["", "ann", "a@b@c", "ann@[::1]", "ann@127.1", "(" * 254, "\ud800@x"]
)
def test_what_is_no_mail_address_has_no_mailbox(mail: str) -> None:
    with pytest.raises(ValueError, match="is not an email address"):
        recipient_of(mail)


LOCALS = st.from_regex(r"[a-z0-9]+(\.[a-z0-9]+)*", fullmatch=True)
HOSTS = st.sampled_from(["example.com", "gmail.com", "bücher.example", "localhost"])


@given(LOCALS, HOSTS, st.from_regex(r"[a-zA-Z0-9+]*", fullmatch=True), st.booleans())
def test_a_tag_and_case_name_no_other_mailbox(
    local: str, host: str, tag: str, is_shouted: bool
) -> None:
    written = f"{local}+{tag}@{host}"
    recipient = recipient_of(f"{local}@{host}")
    assert recipient_of(written.upper() if is_shouted else written) == recipient
    assert recipient_of(recipient) == recipient


@given(st.text(max_size=64))
def test_any_text_has_a_mailbox_or_none(text: str) -> None:
    for mail in (text, f"{text}@example.com", f"ann@{text}"):
        try:
            assert "@" in recipient_of(mail)
        except ValueError:
            continue
