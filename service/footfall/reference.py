"""Settings of the reference server that this service does not have yet.

Those that protect a site stop the start, so that an operator who moves here does not find out by
the spam. The others are logged once, and have no effect.
"""

from collections.abc import Iterator, Mapping

_NO_CAPTCHA = "captchas are not there yet, and comments would be taken without: leave it out"
# Name -> why the service does not start with it.
PROTECTING = {
    "TURNSTILE_KEY": _NO_CAPTCHA,
    "TURNSTILE_SECRET": _NO_CAPTCHA,
    "RECAPTCHA_V3_KEY": _NO_CAPTCHA,
    "RECAPTCHA_V3_SECRET": _NO_CAPTCHA,
}
_OTHERS = """
    BLOGGER_EMAIL DISCORD_TEMPLATE LARK_SECRET LARK_TEMPLATE LIKE_INC_MAX MARKDOWN_CONFIG
    MARKDOWN_EMOJI MARKDOWN_HIGHLIGHT MARKDOWN_KATEX MARKDOWN_MATHJAX MARKDOWN_SUB MARKDOWN_SUP
    MARKDOWN_TEX PUSH_PLUS_CALLBACKURL PUSH_PLUS_CHANNEL PUSH_PLUS_TEMPLATE PUSH_PLUS_TOPIC
    PUSH_PLUS_WEBHOOK QMSG_HOST QMSG_KEY QQ_ID QQ_TEMPLATE QYWX_PROXY
    QYWX_PROXY_PORT SC_TEMPLATE TG_TEMPLATE WX_TEMPLATE
    DETA_PROJECT_KEY GITHUB_PATH GITHUB_REPO LEAN_ID LEAN_KEY LEAN_MASTER_KEY LEAN_SERVER
    MONGO_AUTHSOURCE MONGO_DB MONGO_PASSWORD MONGO_REPLICASET MONGO_USER MYSQL_CHARSET MYSQL_DB
    MYSQL_PASSWORD MYSQL_PREFIX MYSQL_SSL MYSQL_USER PG_DB PG_PASSWORD PG_PREFIX PG_SSL PG_USER
    SQLITE_DB SQLITE_PATH SQLITE_PREFIX TCB_ENV TCB_ID TCB_KEY TIDB_CHARSET TIDB_DB
    TIDB_PASSWORD TIDB_PREFIX TIDB_USER
"""
OTHERS = frozenset(_OTHERS.split())


def refusals(environ: Mapping[str, str]) -> Iterator[str]:
    """A line for each setting that protects a site on the reference server, and cannot here."""
    for name, why in PROTECTING.items():
        value = environ.get(name, "").strip().lower()
        if value not in ("", "0", "false"):
            yield f"{name}=***: {why}"


def unknown(environ: Mapping[str, str]) -> list[str]:
    """The names of the others that are set and not empty."""
    return sorted(name for name in OTHERS if environ.get(name))
