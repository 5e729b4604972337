"""What REDIS_URL may be, and that no error repeats what may be a password."""

import re
from typing import Any

import pytest
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection

from footfall.driver.client import connect
from footfall.driver.stats import CommandStats
from footfall.driver.url import advised, may_pass, parse_redis_url
from footfall.telemetry.metrics import Metrics

LOGIN = ("ann", "a@b/c")
HERE = {"host": "h"}


@pytest.mark.parametrize(
    ("url", "kind", "options", "login"),
    [
        ("redis://h", Connection, HERE, ()),
        ("redis://h:7/2", Connection, {"host": "h", "port": 7, "db": 2}, ()),
        ("redis://[::1]:7", Connection, {"host": "::1", "port": 7}, ()),
        ("redis://:a%40b%2Fc@h/", Connection, HERE, ("a@b/c",)),
        ("redis://ann:a%40b%2Fc@h?db=3", Connection, {**HERE, "db": 3}, LOGIN),
        ("redis://ann:100%25[x]:y@h", Connection, HERE, ("ann", "100%[x]:y")),
        (
            "rediss://h?ssl_check_hostname=False&ssl_cert_reqs=none",
            SSLConnection,
            {**HERE, "ssl_check_hostname": False, "ssl_cert_reqs": "none", "ssl_password": ""},
            (),
        ),
        ("unix:///a%20b/s", UnixDomainSocketConnection, {"path": "/a b/s"}, ()),
        (
            "unix://ann:a%40b%2Fc@/s?db=9",
            UnixDomainSocketConnection,
            {"path": "/s", "db": 9},
            LOGIN,
        ),
    ],
)
def test_a_url_names_a_server(
    url: str, kind: type, options: dict[str, Any], login: tuple[str, ...]
) -> None:
    address = parse_redis_url(url)
    assert (address.kind, address.options, address.login) == (kind, options, login)
    assert not address.is_cluster


def test_another_password_takes_the_place_of_the_urls() -> None:
    assert parse_redis_url("redis://ann:old@h", "a@b/c").login == LOGIN
    assert parse_redis_url("redis://h", "a@b/c").login == ("a@b/c",)


def test_a_url_names_sentinels_and_the_name_of_their_master() -> None:
    address = parse_redis_url(
        "redis+sentinel://ann:a%40b%2Fc@one,two:7,[fe80::1]:8/my%2Fmaster/4"
        "?sentinel_username=eve&sentinel_password=x%26y"
    )
    assert address.hosts == (("one", 26379), ("two", 7), ("fe80::1", 8))
    assert address.service == "my/master"
    assert (address.options, address.login) == ({"db": 4}, LOGIN)
    assert address.sentinel_login == ("eve", "x&y")
    assert parse_redis_url("rediss+sentinel://one/main").kind is SSLConnection
    assert "a@b/c" not in repr(address)
    assert "x&y" not in repr(address)


def test_a_url_names_nodes_of_a_cluster() -> None:
    address = parse_redis_url("redis://ann:x@one,two:7,[::1]:8/0?cluster=true")
    assert address.is_cluster
    assert address.hosts == (("one", 6379), ("two", 7), ("::1", 8))
    assert (address.options, address.login) == ({}, ("ann", "x"))
    with pytest.raises(ValueError, match="only database 0"):
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
        ("redis://h?ssl_ca_certs=/ca.pem", "cannot have: ssl_ca_certs; redis has db, cluster"),
        ("rediss://h?ssl_password=hunter2&x=y&ssl_cafile=/f", "cannot have; rediss has db"),
        ("rediss://h?ssl_password=hunter2&ssl_cafile=/f", "cannot have: ssl_cafile; rediss"),
        ("rediss://h?ssl_password=a&hunter=b", "an option that it cannot have; rediss has db"),
        ("redis://h?password=hunter2", "password comes before the host, redis://name:password@"),
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
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        connect(url, timeout=1)
    assert "nter" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ann:hunter2@h:7/2", "redis://h:7/2"),
        ("unix://ann:hunter2@/a%20b/s?db=9", "unix:///a%20b/s?db=9"),
        ("rediss://:hunter2@h?ssl_password=hunter2&ssl_check_hostname=false", "rediss://h"),
        ("redis://:hunter2@one,two:7/0?cluster=true", "redis://one,two:7/0"),
        (
            "redis+sentinel://:hunter2@one,two:7/main/4?sentinel_password=hunter2",
            "redis+sentinel://one,two:7/main/4",
        ),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert parse_redis_url(url).shown == shown


def test_a_plus_in_a_password_stays_a_plus() -> None:
    address = parse_redis_url("redis+sentinel://one/main?sentinel_password=a+b%2Bc")
    assert address.sentinel_login == ("a+b+c",)


@pytest.mark.parametrize(
    ("error", "may"),
    [
        ("Connection refused", True),
        ("Connection reset by peer", True),
        ("Error -2 connecting to redis:6379. Name or service not known.", True),
        ("Error 13 connecting to /run/redis.sock. Permission denied.", True),
        ("Authentication required.", False),
        ("AUTH <password> called without any password configured for the default user.", False),
        ("unknown command 'SENTINEL', with args beginning with: 'MASTERS' ", False),
        ("the Sentinels refuse the password, or that there is none", False),
        ('Protocol error, got "H" as reply type byte', False),
        ("LOADING Redis is loading the dataset in memory", True),
        ("MOVED 3999 127.0.0.1:6381", False),
        ("ERR This instance has cluster support disabled", False),
        ("WRONGPASS invalid username-password pair or user is disabled.", False),
        ("DB index is out of range", False),
        ("SELECT is not allowed in cluster mode", False),
    ],
)
def test_the_service_waits_only_for_errors_that_may_pass_and_advises_on_each(
    error: str, may: bool
) -> None:
    assert may_pass(error) == may
    assert error.startswith("LOADING") or re.fullmatch(
        rf"{re.escape(error)} \(.+\)", advised(error)
    )


def test_the_log_of_an_outage_advises_once(caplog: pytest.LogCaptureFixture) -> None:
    stats = CommandStats(Metrics(), 1)
    stats.logs_outages = True
    for reason in ("Connection refused", "invalid username-password pair or user is disabled."):
        stats.server("Redis").unopened(ConnectionError(reason))
    away, refused = caplog.messages
    assert away.startswith("Redis does not answer: Connection refused (nothing listens there")
    assert "user is disabled; correct REDIS_URL, REDIS_PASSWORD or" in refused
    assert "(" not in refused
