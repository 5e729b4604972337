"""Comments and accounts as JSON, for Redis.

A comment is stored in two halves. `body` is what everybody may see, under the names that answers
use; `secrets` is what only administrators may. A reader for the public never fetches the second.
"""

from dataclasses import replace
from typing import Any

import orjson

from ..model import Account, Comment


def body(comment: Comment) -> bytes:
    """The public half. An account's nick, link and avatar are looked up live, so not kept here."""
    fields: dict[str, Any] = {
        "comment": comment.html,
        "orig": comment.source,
        "browser": comment.browser,
        "os": comment.os,
        "time": comment.at,
    }
    if comment.account:
        fields["user_id"] = comment.account
    else:
        fields |= {"nick": comment.nick, "link": comment.link, "avatar": comment.avatar}
        if comment.author:
            fields["author"] = comment.author
    if comment.region:
        fields["addr"] = comment.region
    if comment.parent:
        fields |= {"pid": comment.parent, "rid": comment.root}
    return orjson.dumps(fields)


def secrets(comment: Comment) -> bytes:
    fields = {
        "mail": comment.mail,
        "ip": comment.address,
        "ua": comment.ua,
        "addr": comment.full_region,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value})


def comment(id: str, path: str, body: bytes) -> Comment:
    """Back to a Comment, without its secrets."""
    public = orjson.loads(body)
    return Comment(
        id=id,
        path=path,
        at=public["time"],
        html=public["comment"],
        source=public["orig"],
        nick=public.get("nick"),
        link=public.get("link"),
        browser=public["browser"],
        os=public["os"],
        region=public.get("addr", ""),
        avatar=public.get("avatar", ""),
        parent=public.get("pid", ""),
        root=public.get("rid", ""),
        account=public.get("user_id", ""),
        author=public.get("author", public.get("user_id", "")),
    )


def with_secrets(comment: Comment, secrets: bytes | None) -> Comment:
    private = orjson.loads(secrets) if secrets else {}
    return replace(
        comment,
        mail=private.get("mail"),
        ua=private.get("ua"),
        full_region=private.get("addr", ""),
        address=private.get("ip", ""),
    )


def account_body(account: Account) -> bytes:
    return orjson.dumps(
        {
            "type": account.role,
            "display_name": account.nick,
            "email": account.mail,
            "url": account.link,
            "avatar": account.avatar,
            "label": account.label,
        }
    )


def account(id: str, body: bytes) -> Account:
    fields = orjson.loads(body)
    return Account(
        id=id,
        role=fields["type"],
        nick=fields["display_name"],
        mail=fields["email"],
        link=fields["url"],
        avatar=fields["avatar"],
        label=fields["label"],
    )
