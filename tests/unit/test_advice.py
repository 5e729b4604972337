"""Settings without effect are named in warnings; settings that would protect nothing stop the
start.
"""

from pathlib import Path

import pytest

from footfall.advice import advice
from footfall.config import BadSettings, Settings
from footfall.unsupported_settings import OTHERS, PROTECTING

# Environments as they occur: a shell, systemd, Docker, Kubernetes, CI and the usual platforms.
_ORDINARY = """
    PATH HOME HOSTNAME HOSTTYPE USER LOGNAME SHELL SHLVL PWD OLDPWD LANG LC_ALL LANGUAGE TERM TZ
    EDITOR PAGER MAIL DISPLAY TMPDIR COLORTERM LS_COLORS SSH_CLIENT SSH_CONNECTION XDG_DATA_DIRS
    XDG_DATA_HOME XDG_RUNTIME_DIR VIRTUAL_ENV PYTHONPATH PYTHONUNBUFFERED PYTHON_VERSION PS1 _
    GPG_KEY SSL_CERT_FILE HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET LISTEN_FDS LISTEN_PID MAINPID STATE_DIRECTORY
    RUNTIME_DIRECTORY CREDENTIALS_DIRECTORY SYSTEMD_EXEC_PID MEMORY_PRESSURE_WATCH
    KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS KUBERNETES_PORT
    KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR FOOTFALL_PORT FOOTFALL_SERVICE_HOST
    FOOTFALL_PORT_8360_TCP FOOTFALL_PORT_8360_TCP_PORT FOOTFALL_SERVICE_PORT_HTTP POD_NAME
    REDIS_PORT REDIS_HOST REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_TLS_URL
    REDIS_PORT_6379_TCP REDIS_PORT_6379_TCP_PROTO REDIS_SERVER_PORT REDIS_SERVER_SERVICE_HOST
    SITE_URL_PORT_80_TCP DATABASE_URL WEB_CONCURRENCY DYNO PORTS NODE_ENV NODE_NAME
    GITHUB_TOKEN GITHUB_REPOSITORY GITHUB_SERVER_URL CI RUNNER_OS VERCEL_URL FLY_APP_NAME
    POSTGRES_HOST POSTGRES_PORT MYSQL_PORT MYSQL_SERVICE_HOST SERVER_NAME SERVER_PORT WORKER_ID
    OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT SERVER_SOFTWARE AWS_SECRET_ACCESS_KEY DOMAIN
    COMPOSE_PROJECT_NAME DATA_HOME CACHE_DIR CONFIG_DIR SECRET_KEY_BASE KEY_FILE UMASK PUID PGID
"""
ORDINARY = _ORDINARY.split()


def told(**environ: str) -> list[str]:
    return list(advice(Settings.from_env(environ), environ))


def test_an_ordinary_environment_needs_no_advice() -> None:
    assert told(**{name: "something" for name in ORDINARY}) == []
    assert told() == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FORBIDEN_WORDS", "FORBIDDEN_WORDS"),
        ("FORBIDDEN_WORD", "FORBIDDEN_WORDS"),
        ("forbidden_words", "FORBIDDEN_WORDS"),
        ("SECURE_DOMAIN", "SECURE_DOMAINS"),
        ("COMMENTS_AUDIT", "COMMENT_AUDIT"),
        ("DATADIR", "DATA_DIR"),
        ("REDIS_URI", "REDIS_URL"),
        ("WORKER", "WORKERS"),
        ("LEVEL", ""),
        ("TRUSTED_PROXY", "TRUSTED_PROXIES"),
        ("DISSALOW_IP_LIST", "DISALLOW_IP_LIST"),
        ("DISABLE_USER_AGENT", "DISABLE_USERAGENT"),
        ("TURNSTILE_SECRETS", "TURNSTILE_SECRET"),
        ("RECAPTCHA_V3_SECRT", "RECAPTCHA_V3_SECRET"),
        ("AKISMETKEY", "AKISMET_KEY"),
        ("KEY_PREFX", "KEY_PREFIX"),
        ("COUNTER_RATES", "COUNTER_RATE"),
        ("JWT_TOKEN_FILES", "JWT_TOKEN_FILE"),
        ("jwt_token_file", "JWT_TOKEN_FILE"),
        ("SMTP_PASS_FIL", "SMTP_PASS_FILE"),
        ("CERTIFICATE_FILE", ""),
    ],
)
def test_a_misspelt_setting_is_named_with_the_nearest(name: str, meant: str) -> None:
    expected = [f"{name} is not a setting and does nothing. Did you mean {meant}?"] if meant else []
    assert told(**{name: "value"}) == expected
    assert told(**{name: ""}) == [], "what is empty is not set"


def test_settings_of_the_reference_alone_are_named_in_one_line() -> None:
    environ = {"QYWX_PROXY": "x", "WX_TEMPLATE": "y", "QQ_TEMPLATE": "secret", "TG_TEMPLATE": ""}
    (line,) = told(**environ, LEAN_KEY_FILE="/k")
    assert line == (
        "these settings of Waline do nothing here: LEAN_KEY_FILE, QQ_TEMPLATE, QYWX_PROXY, "
        "WX_TEMPLATE"
    )
    assert not OTHERS & {name for name, *_ in Settings().table({})}


@pytest.mark.parametrize("name", PROTECTING)
def test_a_setting_that_would_protect_nothing_stops_the_start(name: str) -> None:
    with pytest.raises(BadSettings, match=f"^{name}=") as error:
        Settings.from_env({name: "0x-a-secret"})
    assert "0x-a-secret" not in str(error.value)
    for off in ("", "false", "FALSE", "0"):
        assert told(**{name: off}) == []
    assert told(**{name: "key", PROTECTING[name]: "secret"}) == []


def test_all_reasons_not_to_start_are_named_at_once() -> None:
    with pytest.raises(BadSettings) as error:
        Settings.from_env({"PORT": "x", "LOGIN": "forced", "TURNSTILE_KEY": "k", "SMTP_PORT": "x"})
    names = [line.partition("=")[0] for line in str(error.value).splitlines()]
    assert names == ["PORT", "LOGIN", "SMTP_PORT", "TURNSTILE_KEY"]


@pytest.mark.parametrize(
    ("environ", "beginning"),
    [
        ({"UDS": "s", "PORT": "80"}, "PORT does nothing: UDS is set"),
        ({"UDS": "s", "HOST": "::1"}, "HOST does nothing: UDS is set"),
        ({"UDS_MODE": "600"}, "UDS_MODE does nothing without UDS"),
        ({"REDIS_URL": "redis://r", "REDIS_SERVER": "redis-server"}, "REDIS_SERVER does nothing"),
        ({"REDIS_URL": "redis://r", "READ_FROM_REPLICAS": "1"}, "READ_FROM_REPLICAS does nothing"),
        ({"REDIS_PASSWORD": "p"}, "REDIS_PASSWORD does nothing without REDIS_URL"),
        ({"READ_FROM_REPLICAS": "true"}, "READ_FROM_REPLICAS does nothing"),
        ({"DISABLE_IMAGES": "1", "IMAGE_PROXY": "https://p"}, "IMAGE_PROXY does nothing"),
        ({"AVATAR_KEY": "secret"}, "AVATAR_KEY does nothing"),
        ({"LEANCLOUD_APP_ID": "a"}, "LEANCLOUD_APP_ID does nothing without COMPAT"),
        ({"LEANCLOUD_APP_KEY": "k", "COMPAT": "open-kounter"}, "LEANCLOUD_APP_KEY does nothing"),
        ({"SETUP_CODE": "c", "REGISTRATION": "closed"}, "SETUP_CODE does nothing"),
        ({"TURNSTILE_SECRET": "s"}, "without TURNSTILE_KEY the captcha at /ui/register fails"),
        (
            {"RECAPTCHA_V3_SECRET": "s"},
            "without RECAPTCHA_V3_KEY the captcha at /ui/register fails",
        ),
        ({"TRUSTED_PROXIES": "10.0.0.0/8, 0.0.0.0/0"}, "TRUSTED_PROXIES contains all addresses"),
        (
            {"SITE_URL": "https://blog.example", "SECURE_DOMAINS": "x.example"},
            "SECURE_DOMAINS leaves out blog.example",
        ),
        (
            {"SECURE_DOMAINS": r"/example\.com/"},
            r"SECURE_DOMAINS: the pattern /example\.com/ matches parts",
        ),
        (
            {"SECURE_DOMAINS": r"/example\.com$/"},
            r"SECURE_DOMAINS: the pattern /example\.com$/ matches parts",
        ),
        (
            {"SECURE_DOMAINS": r"/^example\.com/"},
            r"SECURE_DOMAINS: the pattern /^example\.com/ matches parts",
        ),
    ],
)
def test_a_setting_that_another_one_overrules_is_named(
    environ: dict[str, str], beginning: str
) -> None:
    (line,) = told(**environ)
    assert line.startswith(beginning)


@pytest.mark.parametrize(
    "environ",
    [
        {"UDS": "s", "UDS_MODE": "600"},
        {"REDIS_URL": "redis://r?cluster=true", "READ_FROM_REPLICAS": "true"},
        {"IMAGE_PROXY": "https://p"},
        {"AVATAR_KEY": "k", "GRAVATAR_STR": "https://a/{{mail|keyed}}"},
        {"TRUSTED_PROXIES": "10.0.0.0/8"},
        {"SITE_URL": "https://blog.example", "SECURE_DOMAINS": r"/\.example$/"},
        {"SITE_URL": "https://blog.example", "SECURE_DOMAINS": "blog.example"},
        {"SECURE_DOMAINS": r"/^(www\.)?example\.com$/, /(^|\.)example\.org$/"},
        {"DISABLE_REGION": "true"},
        {"COMPAT": "leancloud", "LEANCLOUD_APP_ID": "a", "LEANCLOUD_APP_KEY": "k"},
    ],
)
def test_settings_that_go_together_need_no_advice(environ: dict[str, str]) -> None:
    assert told(**environ) == []


def test_data_that_redis_url_leaves_behind_is_named(tmp_path: Path) -> None:
    environ = {"REDIS_URL": "redis://r", "DATA_DIR": str(tmp_path)}
    assert told(**environ) == []
    (tmp_path / "appendonly.aof").touch()
    (line,) = told(**environ)
    assert f"the data in DATA_DIR ({tmp_path}) is not served" in line
    assert told(REDIS_URL="redis://r", DATA_DIR=str(tmp_path / "nowhere")) == []


def test_false_switches_a_setting_off() -> None:
    settings = Settings.from_env(
        dict.fromkeys(
            (
                "IPQPS",
                "COUNTER_RATE",
                "COUNTER_LIMIT",
                "SLOW_SECONDS",
                "DRAIN_SECONDS",
                "UDS",
                "REDIS_SERVER",
                "SITE_URL",
                "SERVER_URL",
                "FORUM_URL",
                "TRUSTED_PROXIES",
                "DISALLOW_IP_LIST",
                "IP2REGION_DB",
                "LEVELS",
                "AVATAR_PROXY",
                "COMMENT_AUDIT",
                "DISABLE_REGION",
                "DISABLE_USERAGENT",
                "AKISMET_KEY",
                "LOGIN",
            ),
            "false",
        )
    )
    assert (settings.ipqps, settings.counter_rate, settings.counter_limit) == (0, 0, 0)
    assert (settings.slow_seconds, settings.drain_seconds, settings.levels) == (0, 0, ())
    assert (settings.trusted_proxies, settings.disallow_ip_list) == ((), ())
    texts = (settings.uds, settings.redis_server, settings.site_url, settings.server_url)
    assert {*texts, settings.forum_url, settings.ip2region_db, settings.avatar_proxy} == {""}
    assert not (settings.comment_audit)
    assert not (settings.disable_region)
    assert not (settings.disable_useragent)
