"""Accounts, sessions and bans as bytes, for Redis: JSON without what is empty."""

import orjson

from ...model import Account, Ban, Credentials, Session


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


def credentials_body(credentials: Credentials) -> bytes:
    """Empty values are left out."""
    fields = {
        "password": credentials.password,
        "totp": credentials.totp,
        "step": credentials.step,
        "recovery": list(credentials.recovery),
        "identities": dict(credentials.identities),
        "confirmed": credentials.confirmed,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value})


def credentials(body: bytes) -> Credentials:
    fields = orjson.loads(body or b"{}")
    return Credentials(**(fields | {"recovery": tuple(fields.get("recovery", ()))}))


def session_body(session: Session) -> bytes:
    """Unknown values are left out; name and end are stored elsewhere."""
    fields = {
        "began": session.started_ms,
        "by": session.by,
        "browser": session.browser,
        "os": session.system,
        "network": session.network,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value})


def session(id: str, ends_ms: int, body: bytes) -> Session:
    """`body` may be empty."""
    fields = orjson.loads(body or b"{}")
    places = (fields.get(name, "") for name in ("by", "browser", "os", "network"))
    return Session(id, fields.get("began", 0), ends_ms, *places)


def ban_body(ban: Ban) -> bytes:
    fields = {"until": ban.until_ms, "reason": ban.reason, "at": ban.at_ms, "by": ban.by}
    return orjson.dumps(fields)


def is_ban(body: bytes) -> bool:
    """Can it be read?"""
    try:
        match orjson.loads(body):
            case {"until": int(), "reason": str(), "at": int(), "by": str()}:
                return True
    except ValueError:
        pass
    return False


def ban(value: str, body: bytes) -> Ban:
    fields = orjson.loads(body)
    return Ban(value, fields["until"], fields["reason"], fields["at"], fields["by"])
