from dataclasses import replace

import pytest

from footfall import setting_texts, values
from footfall.advice import advice
from footfall.config import BadSettings, Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_env({})
    assert (settings.host, settings.port, settings.ipqps) == ("127.0.0.1", 8360, 60)
    assert settings == Settings()


def test_every_bad_value_is_named_at_once() -> None:
    environ = {
        "PORT": "http",
        "IPQPS": "soon",
        "FORBIDDEN_WORDS": "fine, [a-",
        "LEVELS": "3,1",
        "TRUSTED_PROXIES": "10.0.0.0/99",
        "COMMENT_AUDIT": "maybe",
        "SITE_URL": "blog",
        "SECURE_DOMAINS": "/(/",
        "COUNTER_TYPES": "reaction0",
        "COUNTER_BUCKETS": "1000",
        "KEY_PREFIX": "a:{b}",
        "GRAVATAR_STR": "{{password}}",
        "REDIS_TIMEOUT": "0",
        "IP2REGION_DB": "/nowhere.xdb",
    }
    with pytest.raises(BadSettings) as error:
        Settings.from_env(environ)
    lines = str(error.value).splitlines()
    assert sorted(line.partition("=")[0] for line in lines) == sorted(environ)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("0.0.0.0", "0.0.0.0"),
        ("localhost", "localhost"),
        ("[::]", "::"),
    ],
)
def test_a_host_may_have_the_brackets_of_a_url(text: str, host: str) -> None:
    assert Settings.from_env({"HOST": text}).host == host


@pytest.mark.parametrize(
    "text", ["127.0.0.1:80", "[::1]:80", "[::1", "[a]", "http://a", ":", "[]", "::g"]
)
def test_a_host_with_a_port_or_more_is_refused(text: str) -> None:
    with pytest.raises(BadSettings, match="^HOST=.*PORT has the port"):
        Settings.from_env({"HOST": text})


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(BadSettings, match=r"the pattern '\[a-' cannot be used"):
        Settings.from_env({"FORBIDDEN_WORDS": "fine, [a-"})


@pytest.mark.parametrize("text", ["false", "0", "no", "off", ""])
def test_flags_may_be_unset_in_many_words(text: str) -> None:
    assert Settings.from_env({"COMMENT_AUDIT": text}).comment_audit is False


def test_a_password_in_a_url_is_never_shown() -> None:
    environ = {"REDIS_URL": "redis://:hunter2@redis.example"}
    settings = Settings.from_env(environ)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings.table(environ))


@pytest.mark.parametrize("name", [setting.metadata["env"] for setting in Settings.settings()])
@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_value_is_none_but_for_the_one_that_the_reference_knows(
    name: str, text: str
) -> None:
    expected = replace(Settings(), ipqps=0) if name == "IPQPS" else Settings()
    assert Settings.from_env({name: text}) == expected


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("COMPAT", ()),
        ("FORBIDDEN_WORDS", None),
        ("REDIS_URL", ""),
        ("STATISTICS", "off"),
        ("STATISTICS_PUBLIC", "none"),
        ("COUNTER_LIMIT", 0),
        ("TRUSTED_PROXIES", ()),
    ],
)
def test_false_switches_off_what_can_be_off(name: str, off: object) -> None:
    settings = Settings.from_env({name: "false"})
    assert getattr(settings, name.lower()) == off
    shown = {name: text for name, text, *_ in settings.shown()}
    assert getattr(Settings.from_env({name: shown[name]}), name.lower()) == off


@pytest.mark.parametrize("name", ["PORT", "REGISTRATION", "SESSION_DAYS"])
def test_what_is_needed_cannot_be_off(name: str) -> None:
    with pytest.raises(BadSettings, match=f"^{name}='false'"):
        Settings.from_env({name: "false"})


def test_what_kubernetes_says_of_a_service_is_no_setting() -> None:
    links = {
        "SMTP_PORT": "tcp://10.96.0.12:25",
        "SMTP_SERVICE_HOST": "10.96.0.12",
        "SMTP_SERVICE_PORT": "25",
        "SMTP_PORT_25_TCP": "tcp://10.96.0.12:25",
        "REDIS_PORT": "tcp://10.96.0.7:6379",
        "REDIS_SERVICE_HOST": "10.96.0.7",
    }
    settings = Settings.from_env(links)
    assert settings == Settings()
    (line,) = advice(settings, links)
    assert line.startswith("SMTP_PORT is a service link of Kubernetes")
    assert "enableServiceLinks: false" in line


def test_a_domain_pattern_may_contain_a_comma() -> None:
    domains = Settings.from_env(
        {"SECURE_DOMAINS": r"/^a{1,2}\.example$/, b.example"}
    ).secure_domains
    assert len(domains) == 2
    assert domains[1] == "b.example"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("blog.example, x.example ,", ("blog.example", "x.example")),
        ("HTTPS://Blog.example:443/post", ("blog.example",)),
        ("localhost:8080", ("localhost",)),
        ("http://[::1]:8080/", ("::1",)),
        ("büro.example", ("xn--bro-hoa.example",)),
        ("intra_net", ("intra_net",)),
    ],
)
def test_a_domain_is_written_as_browsers_send_it(text: str, expected: tuple[str, ...]) -> None:
    assert Settings.from_env({"SECURE_DOMAINS": text}).secure_domains == expected


@pytest.mark.parametrize(
    "text",
    [
        "false",
        "*.example.com",
        ".example.com",
        "/blog",
        "blog example",
        "https://",
        "a" * 254,
        "/^a$/g",
        "x..example",
    ],
)
def test_a_host_that_no_browser_sends_is_refused(text: str) -> None:
    """It would turn every page away, and nobody would know why."""
    with pytest.raises(BadSettings, match="^SECURE_DOMAINS="):
        Settings.from_env({"SECURE_DOMAINS": f"fine.example,{text}"})


@pytest.mark.parametrize("text", ["https://a@b.example/", "https://b.example\\c", "https://b c/"])
def test_a_proxy_is_an_address_that_can_be_read_in_one_way(text: str) -> None:
    with pytest.raises(BadSettings, match="IMAGE_PROXY=.*without (user, )?blanks"):
        Settings.from_env({"IMAGE_PROXY": text})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OIDC_ISSUER", "http://id.example"),
        ("OIDC_ISSUER", "id.example"),
        ("OIDC_ISSUER", "http://localhost.evil.example"),
        ("OIDC_SCOPES", "profile email"),
        ("OAUTH_URL", "auth.example"),
    ],
)
def test_the_settings_of_log_ins_by_others_are_checked(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"^{name}="):
        Settings.from_env({name: value})


def test_an_issuer_is_kept_exactly_as_written() -> None:
    for issuer in ("https://id.example/", "http://localhost:8080/realms/a", "http://[::1]"):
        assert Settings.from_env({"OIDC_ISSUER": issuer}).oidc_issuer == issuer
    assert Settings.from_env({"OIDC_ISSUER": "false"}).oidc_issuer == ""


# Settings by what reads them.


def names_of(*parsers: object) -> list[str]:
    return [
        each.metadata["env"] for each in Settings.settings() if each.metadata["parse"] in parsers
    ]


ADDRESSES = names_of(
    setting_texts.web_address,
    setting_texts.exact_address,
    values.proxy_address,
    setting_texts.issuer,
)
# What it takes is a template or patterns, of several lines, or the key of a hash.
OF_ANY_CHARACTERS = {
    "AVATAR_KEY",
    "FORBIDDEN_WORDS",
    "GRAVATAR_STR",
    "JWT_TOKEN",
    "MAIL_SUBJECT",
    "MAIL_SUBJECT_ADMIN",
    "MAIL_TEMPLATE",
    "MAIL_TEMPLATE_ADMIN",
    "MODEL_PROMPT",
    "WEBHOOK_SECRET",
}
NAMES = [each.metadata["env"] for each in Settings.settings()]


def refusal(name: str, text: str) -> str:
    """The first line of what is said to it; "" if it is taken. A second line may name another
    setting, without which this one has no effect."""
    try:
        Settings.from_env({name: text})
    except BadSettings as error:
        return str(error).splitlines()[0]
    return ""


NO_ADDRESSES = [
    "https://[::1",
    "https://[a]/",
    "https://a b.example",
    "https://a.example/x y",
    "https://a.example/\r\nX: y",
    "https://a.example\u2028/",
    "https://a.example\\\\b",
    "https://a.example:99999",
    "https://a.example:0",
    "https://a.example:x",
    "https://",
    "https://:80/",
    "ftp://a.example",
    "a.example",
]


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_none_is_refused(name: str) -> None:
    assert [text for text in NO_ADDRESSES if not refusal(name, text).startswith(f"{name}=")] == []


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_loses_the_blanks_around_it(name: str) -> None:
    there = Settings.from_env({name: " https://a.example:8443/x\n"})
    (setting,) = (each for each in Settings.settings() if each.metadata["env"] == name)
    assert getattr(there, setting.name) == "https://a.example:8443/x"


@pytest.mark.parametrize(
    "text", ["tcp://10.96.0.12:25", "mail host", "mail.example:25", "mail.example/x", "a\rb", "a@b"]
)
def test_a_mail_server_is_a_host(text: str) -> None:
    assert refusal("SMTP_HOST", text).endswith("a name or an address; SMTP_PORT has the port")


def test_an_internationalized_host_and_an_ideographic_space_in_a_name_are_taken() -> None:
    settings = Settings.from_env(
        {"SITE_URL": "https://bücher.example", "SITE_NAME": "我的\u3000站"}
    )
    assert (settings.site_url, settings.site_name) == ("https://bücher.example", "我的\u3000站")


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b", "a\x1b[2Jb", "a\u2028b"])
def test_a_control_character_is_refused_by_the_setting_that_has_it(text: str) -> None:
    said = {name: refusal(name, text) for name in {*NAMES} - OF_ANY_CHARACTERS}
    wrong = {name for name, line in said.items() if not line.startswith(f"{name}=")}
    assert wrong == set()
    assert all(line.isprintable() for line in said.values())


@pytest.mark.parametrize(
    "part", ["a", "a ", "[", "(", "\x1b[2J", "{{", "{", "{% if x %}", "1", ","]
)
def test_an_error_repeats_no_more_than_eighty_characters_of_a_value(part: str) -> None:
    said = [refusal(name, (part * 5_000)[:5_000]) for name in NAMES]
    assert all(line.isprintable() and len(line) < 400 for line in said)
    assert [line for line in said if (part * 80)[:81] in line] == []


def test_no_setting_takes_a_text_as_it_comes_but_keys_of_hashes() -> None:
    assert {*names_of(str)} <= OF_ANY_CHARACTERS
