"""Published clients of other counters: how each is embedded, and where it shows what.

The markup is that of the themes' templates; the scripts are theirs, unchanged.
"""

import json
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

# What the site's owner writes into the theme's configuration, and into that of this service.
APP = {"app_id": "footfall", "app_key": "public"}
SETTINGS = {"LEANCLOUD_APP_ID": APP["app_id"], "LEANCLOUD_APP_KEY": APP["app_key"]}


def _script(name: str, attributes: str = "") -> str:
    return f'<script {attributes} src="/scripts/{name}"></script>'


def _config(name: str, value: object) -> str:
    """As NexT hands its configuration to its scripts."""
    attributes = f'class="next-config" data-name="{name}" type="application/json"'
    return f"<script {attributes}>{json.dumps(value)}</script>"


def _next(server: str, body: str, *, is_post: bool, security: bool) -> str:
    visitors = {"enable": True, **APP, "server_url": server, "security": security}
    return (
        body
        + _config("main", {"hostname": "127.0.0.1"})
        + _config("page", {"isPost": is_post})
        + _config("leancloud_visitors", visitors)
        + _script("next-config.js")
        + _script("next-counter.js")
        + '<script>document.dispatchEvent(new Event("page:loaded"))</script>'
    )


def next_visitors(path: str) -> str:
    return (
        f'<span id="{quote(path)}" class="post-meta-item leancloud_visitors" '
        'data-flag-title="A post"><span class="leancloud-visitors-count"></span></span>'
    )


def next_post(server: str, path: str, *, security: bool = True) -> str:
    return _next(server, next_visitors(path), is_post=True, security=security)


def next_list(server: str, *paths: str) -> str:
    """Its front page, with the posts' titles."""
    posts = [
        f'<a class="post-title-link" href="{quote(path)}">A post</a>{next_visitors(path)}'
        for path in paths
    ]
    return _next(server, "".join(posts), is_post=False, security=True)


# What Fluid shows: of the site, and of the page.
FLUID_NUMBERS = ("site-pv", "site-uv", "page-views")


def fluid(server: str, kind: str, path: str = "window.location.pathname") -> str:
    """`kind` is leancloud or openkounter."""
    numbers = "".join(
        f'<span id="{kind}-{name}-container" style="display: none">'
        f'<span id="{kind}-{name}"></span></span>'
        for name in FLUID_NUMBERS
    )
    # Visits of a blog on this machine are left out otherwise.
    own = {"server_url": server, "ignore_local": False, "path": path, **APP}
    config = {"web_analytics": {"enable": True, kind: own}}
    given = f"<script>var Fluid = {{ctx: {{dnt: false}}}}, CONFIG = {json.dumps(config)}</script>"
    return numbers + given + _script(f"fluid-{kind}.js", "defer")


# Whom its releases ask on their own: one that reports errors, and one that tells a reader's
# address, whose failure 1.5.3 does not catch.
VALINES_OWN = ("fundebug.cn", "upaiyun.com", "page error: ProgressEvent")


@dataclass(frozen=True)
class Valine:
    """A release, with the SDK that it was used with."""

    version: str
    sdk: str

    def __str__(self) -> str:
        return self.version

    def body(self, server: str, path: str, **options: Any) -> str:
        given = {
            "el": "#vcomments",
            "appId": APP["app_id"],
            "appKey": APP["app_key"],
            "serverURLs": server,
            "visitor": True,
            "avatar": "hide",
            **options,
        }
        return (
            f'<span id="{escape(path)}" class="leancloud_visitors" data-flag-title="A post">'
            '<i class="leancloud-visitors-count"></i></span><div id="vcomments"></div>'
            + _script(self.sdk)
            + _script(f"valine-{self.version}.js")
            + f"<script>new Valine({json.dumps(given)})</script>"
        )


VALINES = (Valine("1.3.10", "leancloud-4.js"), Valine("1.5.3", "leancloud-3.js"))
