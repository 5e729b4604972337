"""Settings of Waline: those that need another one, and those that we do not have.

Those that protect a site only together with another stop the start without it, so that an operator
does not find out by the spam. The others are logged once, and have no effect.
"""

from collections.abc import Iterator, Mapping

# Name -> the setting without which it has no effect.
PROTECTING = {"TURNSTILE_KEY": "TURNSTILE_SECRET", "RECAPTCHA_V3_KEY": "RECAPTCHA_V3_SECRET"}
_OTHERS = """
    BLOGGER_EMAIL DISCORD_TEMPLATE LARK_SECRET LARK_TEMPLATE LIKE_INC_MAX MARKDOWN_CONFIG
    MARKDOWN_EMOJI MARKDOWN_HIGHLIGHT MARKDOWN_KATEX MARKDOWN_MATHJAX MARKDOWN_SUB MARKDOWN_SUP
    MARKDOWN_TEX PUSH_PLUS_CALLBACKURL PUSH_PLUS_CHANNEL PUSH_PLUS_TEMPLATE PUSH_PLUS_TOPIC
    PUSH_PLUS_WEBHOOK QQ_TEMPLATE QYWX_PROXY QYWX_PROXY_PORT
    SC_TEMPLATE TG_TEMPLATE WX_TEMPLATE
    DETA_PROJECT_KEY GITHUB_PATH GITHUB_REPO LEAN_ID LEAN_KEY LEAN_MASTER_KEY LEAN_SERVER
    MONGO_AUTHSOURCE MONGO_DB MONGO_PASSWORD MONGO_REPLICASET MONGO_USER MYSQL_CHARSET MYSQL_DB
    MYSQL_PASSWORD MYSQL_PREFIX MYSQL_SSL MYSQL_USER PG_DB PG_PASSWORD PG_PREFIX PG_SSL PG_USER
    SQLITE_DB SQLITE_PATH SQLITE_PREFIX TCB_ENV TCB_ID TCB_KEY TIDB_CHARSET TIDB_DB
    TIDB_PASSWORD TIDB_PREFIX TIDB_USER
    WALINE_ADMIN_MODULE_ASSET_URL
"""
OTHERS = frozenset(_OTHERS.split())


def refusals(environ: Mapping[str, str]) -> Iterator[str]:
    """A line for each setting that was to protect a site, and does not."""
    for name, other in PROTECTING.items():
        if not _is_off(environ, name) and _is_off(environ, other):
            yield f"{name}=***: without {other} nobody would check a captcha"


def _is_off(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("", "0", "false")


def unknown(environ: Mapping[str, str]) -> list[str]:
    """The names of the others that are set and not empty, also as files."""
    names = (*OTHERS, *(f"{name}_FILE" for name in OTHERS))
    return sorted(name for name in names if environ.get(name))
