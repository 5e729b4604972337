import pytest

from service.config import BadSettings, Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_env({})
    assert (settings.host, settings.port, settings.ipqps) == ("127.0.0.1", 8360, 60)
    assert settings == Settings()


def test_every_bad_value_is_named_at_once() -> None:
    environ = {
        "PORT": "http", "IPQPS": "soon", "FORBIDDEN_WORDS": "fine, [a-", "LEVELS": "3,1",
        "TRUSTED_PROXIES": "10.0.0.0/99", "COMMENT_AUDIT": "maybe", "SITE_URL": "blog",
        "SECURE_DOMAINS": "/(/", "COUNTER_TYPES": "reaction0", "COUNTER_BUCKETS": "1000",
        "KEY_PREFIX": "a:{b}", "GRAVATAR_STR": "{{password}}", "REDIS_TIMEOUT": "0",
        "IP2REGION_DB": "/nowhere.xdb",
    }  # fmt: skip
    with pytest.raises(BadSettings) as error:
        Settings.from_env(environ)
    lines = str(error.value).splitlines()
    assert sorted(line.partition("=")[0] for line in lines) == sorted(environ)


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(BadSettings, match=r"the pattern '\[a-' cannot be read"):
        Settings.from_env({"FORBIDDEN_WORDS": "fine, [a-"})


@pytest.mark.parametrize(
    ("text", "value"), [("", 0), ("0", 0), ("60", 60), ("0.5", 0.5)]
)  # fmt: skip
def test_no_seconds_mean_no_limit(text: str, value: float) -> None:
    assert Settings.from_env({"IPQPS": text}).ipqps == value


@pytest.mark.parametrize("text", ["true", "1", "YES", "on"])
def test_flags_may_be_said_in_many_words(text: str) -> None:
    assert Settings.from_env({"COMMENT_AUDIT": text}).comment_audit is True


@pytest.mark.parametrize("text", ["false", "0", "no", "off", ""])
def test_flags_may_be_denied_in_many_words(text: str) -> None:
    assert Settings.from_env({"COMMENT_AUDIT": text}).comment_audit is False


def test_a_password_in_a_url_is_never_shown() -> None:
    environ = {"REDIS_URL": "redis://:hunter2@redis.example"}
    settings = Settings.from_env(environ)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings.table(environ))


@pytest.mark.parametrize("name", ["HOST", "DATA_DIR", "PORT"])
def test_what_cannot_be_empty_says_so(name: str) -> None:
    with pytest.raises(BadSettings, match=f"^{name}=''"):
        Settings.from_env({name: ""})


def test_a_domain_pattern_may_hold_a_comma() -> None:
    domains = Settings.from_env(
        {"SECURE_DOMAINS": r"/^a{1,2}\.example$/, b.example"}
    ).secure_domains
    assert len(domains) == 2
    assert domains[1] == "b.example"


def test_a_domain_may_be_given_with_its_scheme() -> None:
    assert Settings.from_env({"SECURE_DOMAINS": "https://Blog.example:443/, x.example"}) == (
        Settings.from_env({"SECURE_DOMAINS": "blog.example,x.example"})
    )
