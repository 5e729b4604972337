import pytest

from footfall.http.client import token_of
from footfall.netaddr import Proxies
from footfall.values import networks

TRUSTED = networks("127.0.0.0/8, ::1, 10.0.0.0/8, 2001:db8:9::/48")


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        # A stranger's header is not trusted.
        ("192.0.2.1", "198.51.100.1", "192.0.2.1"),
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        # The address left of the first stranger's is only what that stranger claims.
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, 10.1.2.3, 10.3.2.1", "198.51.100.1"),
        ("127.0.0.1", "10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("127.0.0.1", "[2001:db8::7]:443", "2001:db8::7"),
        ("127.0.0.1", "198.51.100.1:5000", "198.51.100.1"),
        ("::1", "198.51.100.1", "198.51.100.1"),
        ("2001:db8:9::1", "198.51.100.1", "198.51.100.1"),
        ("::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", " , ,", "127.0.0.1"),
        ("127.0.0.1", "x" * 500, "127.0.0.1"),
        # A client without an address has no limit.
        ("127.0.0.1", "[]", "[]"),
        ("127.0.0.1", "[198.51.100.1]", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, []:5", "[]:5"),
        # A UNIX socket has no peer address; a process that can open it is a local proxy.
        (None, "198.51.100.1", "198.51.100.1"),
        (None, None, ""),
    ],
)
def test_the_address_is_the_nearest_that_is_no_trusted_proxy(
    peer: str | None, forwarded: str | None, address: str
) -> None:
    headers = {} if forwarded is None else {b"x-forwarded-for": forwarded.encode()}
    client = None if peer is None else (peer, 1)
    assert Proxies.of(TRUSTED, "X-Forwarded-For").address_of(client, headers) == address


@pytest.mark.parametrize(
    ("name", "value", "address"),
    [
        ("X-Real-IP", "198.51.100.1", "198.51.100.1"),
        ("CF-Connecting-IP", "2001:db8::7", "2001:db8::7"),
        ("Forwarded", "for=198.51.100.1", "198.51.100.1"),
        ("Forwarded", 'For="[2001:db8::7]:4711";proto=https', "2001:db8::7"),
        ("Forwarded", "proto=https; for=198.51.100.1:80 ;by=10.0.0.1", "198.51.100.1"),
        # Read from the right, as all lists to which proxies append.
        ("Forwarded", "for=203.0.113.9, for=198.51.100.1, for=10.0.0.1", "198.51.100.1"),
        ("Forwarded", "by=203.0.113.9;host=a.example", "127.0.0.1"),
        ("Forwarded", "for=", "127.0.0.1"),
        # A client's own entry, before the proxy's, hides that by no quotation mark.
        ("Forwarded", 'for="203.0.113.9, for=198.51.100.1', "198.51.100.1"),
        ("Forwarded", 'for="203.0.113.9, by=10.0.0.1;for="[2001:db8::7]"', "2001:db8::7"),
        ("Forwarded", 'host="a,for=203.0.113.9", for="[2001:db8::7]:80";by="x"', "2001:db8::7"),
        ("Forwarded", 'for="' + "x" * 500, "127.0.0.1"),
        ("Forwarded", "before=198.51.100.1", "127.0.0.1"),
    ],
)
def test_the_address_is_read_in_the_header_that_is_configured(
    name: str, value: str, address: str
) -> None:
    headers = {name.lower().encode(): value.encode(), b"x-forwarded-for": b"192.0.2.66"}
    assert Proxies.of(TRUSTED, name).address_of(("127.0.0.1", 1), headers) == address
    assert Proxies.of(TRUSTED, name).address_of(("192.0.2.1", 1), headers) == "192.0.2.1"


@pytest.mark.parametrize(
    ("header", "token"),
    [(b"Bearer abc", "abc"), (b"abc", "abc"), (b"bearer abc", "bearer abc"), (b"", "")],
)
def test_a_token_follows_bearer_spelt_just_so(header: bytes, token: str) -> None:
    assert token_of({b"authorization": header}) == token
