"""What REDIS_URL may be, and that no error repeats what may be a password."""

from typing import Any

import pytest
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection

from footfall.driver.client import connect
from footfall.driver.url import may_pass, parse_redis_url

LOGIN = {"username": "ann", "password": "a@b/c"}
HERE = {"host": "h"}


@pytest.mark.parametrize(
    ("url", "kind", "options"),
    [
        ("redis://h", Connection, HERE),
        ("redis://h:7/2", Connection, {"host": "h", "port": 7, "db": 2}),
        ("redis://[::1]:7", Connection, {"host": "::1", "port": 7}),
        ("redis://:a%40b%2Fc@h/", Connection, {**HERE, "password": "a@b/c"}),
        ("redis://ann:a%40b%2Fc@h?db=3", Connection, {**HERE, **LOGIN, "db": 3}),
        ("redis://ann:100%25[x]:y@h", Connection, {**HERE, **LOGIN, "password": "100%[x]:y"}),
        ("rediss://h?ssl_check_hostname=False&ssl_cert_reqs=none", SSLConnection,
         {**HERE, "ssl_check_hostname": False, "ssl_cert_reqs": "none", "ssl_password": ""}),
        ("unix:///a%20b/s", UnixDomainSocketConnection, {"path": "/a b/s"}),
        ("unix://ann:a%40b%2Fc@/s?db=9", UnixDomainSocketConnection,
         {**LOGIN, "path": "/s", "db": 9}),
    ],
)  # fmt: skip
def test_a_url_names_a_server(url: str, kind: type, options: dict[str, Any]) -> None:
    address = parse_redis_url(url)
    assert (address.kind, address.options, address.is_cluster) == (kind, options, False)


def test_a_url_names_sentinels_and_the_name_of_their_master() -> None:
    address = parse_redis_url(
        "redis+sentinel://ann:a%40b%2Fc@one,two:7,[fe80::1]:8/my%2Fmaster/4"
        "?sentinel_username=eve&sentinel_password=x%26y"
    )
    assert address.hosts == (("one", 26379), ("two", 7), ("fe80::1", 8))
    assert address.service == "my/master"
    assert address.options == {**LOGIN, "db": 4}
    assert address.sentinel_options == {"username": "eve", "password": "x&y"}
    assert parse_redis_url("rediss+sentinel://one/main").kind is SSLConnection
    assert "a@b/c" not in repr(address) and "x&y" not in repr(address)


def test_a_url_names_nodes_of_a_cluster() -> None:
    address = parse_redis_url("redis://ann:x@one,two:7,[::1]:8/0?cluster=true")
    assert address.is_cluster
    assert address.hosts == (("one", 6379), ("two", 7), ("::1", 8))
    assert address.options == {"username": "ann", "password": "x"}
    with pytest.raises(ValueError, match="no databases but 0"):
        parse_redis_url("redis://one/1?cluster=true")
    assert not parse_redis_url("rediss://h?cluster=false").is_cluster


@pytest.mark.parametrize(
    ("url", "words"),
    [
        # A part of a password must not be taken for a host, a port or an option.
        ("redis://:hunter2/x@h", "percent"),
        ("redis://:hunter2#x@h", "percent"),
        ("redis://:hunter2?x@h", "percent"),
        ("redis://:hunter2@x@h", "percent"),
        ("redis://:hunter2 x@h", "percent"),
        ("redis://:hünter2@h", "percent"),
        ("redis://hunter2@h", "needs a colon"),
        ("redis://h:hunter2", "its port a number"),
        ("redis://h:65536", "its port a number"),
        ("redis://", "a host is a name"),
        ("redis://one,two", "several between commas are Sentinels"),
        ("redis://[hunter2]", "a host is a name"),
        ("redis://h/hunter2", "the database must be a number"),
        ("redis://h?db=hunter2", "db must be a number"),
        ("redis://h?hunter2", "an option that it cannot have"),
        ("redis://h?hunter2=1", "redis has db, cluster"),
        # These options would undo what the service relies on.
        ("redis://h?retry_on_timeout=true", "an option that it cannot have"),
        ("redis://h?decode_responses=true", "an option that it cannot have"),
        ("redis://h?ssl_ca_certs=/ca.pem", "an option that it cannot have"),
        ("redis://h?cluster=hunter2", "cluster must be true or false"),
        ("rediss://h?ssl_cert_reqs=optional", "ssl_cert_reqs must be required or none"),
        (
            "rediss://h?ssl_ca_certs=/nowhere",
            "ssl_ca_certs: /nowhere cannot be read: No such file or directory",
        ),
        (f"rediss://h?ssl_ca_certs={__file__}", "its certificates or keys cannot be used"),
        ("unix://hunter2", "three slashes"),
        ("unix:///s?cluster=true", "unix has db"),
        ("redis+sentinel://h", "must name the master"),
        ("redis+sentinel://h/main?cluster=true", "an option that it cannot have"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_in_words_without_its_secrets(
    url: str, words: str
) -> None:
    with pytest.raises(ValueError) as raised:
        connect(url, timeout=1)
    assert words in str(raised.value)
    assert "nter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ann:hunter2@h:7/2", "redis://h:7/2"),
        ("unix://ann:hunter2@/a%20b/s?db=9", "unix:///a%20b/s?db=9"),
        ("rediss://:hunter2@h?ssl_password=hunter2&ssl_check_hostname=false", "rediss://h"),
        ("redis://:hunter2@one,two:7/0?cluster=true", "redis://one,two:7/0"),
        ("redis+sentinel://:hunter2@one,two:7/main/4?sentinel_password=hunter2",
         "redis+sentinel://one,two:7/main/4"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert parse_redis_url(url).shown == shown


def test_a_plus_in_a_password_stays_a_plus() -> None:
    address = parse_redis_url("redis+sentinel://one/main?sentinel_password=a+b%2Bc")
    assert address.sentinel_options == {"password": "a+b+c"}


@pytest.mark.parametrize(
    ("error", "may"),
    [
        ("Connection refused", True),
        ("Connection reset by peer", True),
        ("LOADING Redis is loading the dataset in memory", True),
        ("MOVED 3999 127.0.0.1:6381", False),
        ("ERR This instance has cluster support disabled", False),
        ("WRONGPASS invalid username-password pair or user is disabled.", False),
        ("DB index is out of range", False),
        ("SELECT is not allowed in cluster mode", False),
    ],
)
def test_the_service_waits_only_for_errors_that_may_pass(error: str, may: bool) -> None:
    assert may_pass(error) == may
