"""What differs on purpose in answers about accounts, each by name and with its reason."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .people import LONGER
from .recording import Answer, Row, Scenario, unwrapped, wrapped_like
from .rules import JSON, Counts, Expected, Reader, Record, decision, form, md5_of, translation

SERVICES = ("github", "twitter", "facebook", "google", "weibo", "qq", "oidc", "huawei")
AVATAR = "https://seccdn.libravatar.org/avatar/"
DEFAULT_SIZE, DEFAULT_RANKED = 10, 20
# The account that logs in where the recording let nobody in.
UNRECORDED = "account of that user"


# Forms.


@form("token", "No two logins have the same token. Waline's tokens do not expire, ours do.")
def _token(record: Record, reader: Reader) -> Record:
    return record | {"token": "its token"} if len(record.get("token") or "") > 8 else record


@form(
    "moment of an account",
    "No two replays have the same clock, and servers spell times differently.",
)
def _created(record: Record, reader: Reader) -> Record:
    spelling = r"[\d-]{10}T[\d:]{8}\.\d{3}Z" if reader.is_ours else r"[\d-]{10} [\d:]{8}"
    is_moment = re.fullmatch(spelling, str(record.get("createdAt")))
    return record | {"createdAt": "its moment"} if is_moment else record


@form("services", "A service that is not connected is null or absent; clients read both as none.")
def _services(record: Record, reader: Reader) -> Record:
    return {n: v for n, v in record.items() if n not in SERVICES or v is not None}


@form("secret", "Each secret is new. This service also shows it as a picture.")
def _secret(record: Record, reader: Reader) -> Record:
    secret = record.get("secret")
    if secret is None or not re.fullmatch("[A-Z2-7]{32}", secret):
        return record
    address = parse_qs(urlsplit(record["otpauth_url"]).query)
    is_its = address["secret"] == [secret]
    known = {n: v for n, v in record.items() if n != "qr"}
    return known | {"secret": "its secret", "otpauth_url": "its address" if is_its else "another"}


# Translations.


@translation("columns", "No answer contains hashes, secrets, or columns that no client reads.")
def _columns(record: Record, row: Row, scenario: Scenario) -> Record:
    if "email" not in record:
        return record
    gone = {"updatedAt"}
    if row.operation == "POST token":
        gone |= {"createdAt"}
    if row.operation == "GET user":
        gone |= {"password"}
    return {name: value for name, value in record.items() if name not in gone}


@translation("2fa", "The answer tells whether two-factor authentication is on, and not its secret.")
def _second_factor(record: Record, row: Row, scenario: Scenario) -> Record:
    return record | {"2fa": "on" if record["2fa"] else None} if "2fa" in record else record


@translation(
    "address and avatar",
    "Without a link or avatar the field is blank, as in the answers to logins, which clients read.",
)
def _blank(record: Record, row: Row, scenario: Scenario) -> Record:
    if "email" not in record:
        return record
    own = AVATAR + md5_of(record["email"])
    return record | {"url": record["url"] or "", "avatar": record["avatar"] or own}


@translation(
    "only the named fields",
    "Labels are given by administrators and avatars are set later, so registering sets neither.",
)
def _assigned(record: Record, row: Row, scenario: Scenario) -> Record:
    if record.get("label") != "boss":
        return record
    return record | {"label": None, "avatar": AVATAR + md5_of(record["email"])}


@translation(
    "not taken over", "The email of a banned account stays taken: nobody can register with it."
)
def _not_taken_over(record: Record, row: Row, scenario: Scenario) -> Record:
    for name in ("display_name", "nick"):
        if record.get(name) == "Bob3":
            is_banned = "nick" in record
            return record | {name: "Bobby"} | ({"type": "banned"} if is_banned else {})
    return record


# Decisions.


def _says(data: Any) -> Expected:
    return Expected(Answer(200, JSON, {"errno": 0, "errmsg": "", "data": data}))


def _wrong(**fields: str) -> Expected:
    return Expected(Answer(200, JSON, {"errno": 1001, "errmsg": fields}))


def _refused(errmsg: str = "") -> Expected:
    return Expected(Answer(200, JSON, {"errno": 1000} | ({"errmsg": errmsg} if errmsg else {})))


@decision(
    "who registers",
    "Each field is checked: the name, the email, and that the password has eight characters.",
)
def _applicant(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    wrong = _faults(row)
    return _wrong(**wrong) if wrong else None


def _faults(row: Row) -> dict[str, str]:
    if row.operation != "POST user":
        return {}
    fields, wrong = row.fields, dict[str, str]()
    if not fields.get("display_name"):
        wrong["display_name"] = "display_name can not be blank"
    if "@" not in fields.get("email", ""):
        wrong["email"] = "email need an email under your options"
    if not fields.get("password"):
        wrong["password"] = "password can not be blank"
    elif len(LONGER.get(fields["password"], fields["password"])) < 8:
        wrong["password"] = "password should be at least 8 characters long"
    return wrong


@decision(
    "who logs in", "A field that is not text is named in a 1001; to Waline it was a wrong password."
)
def _types(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "POST token" or row.path.endswith("2fa"):
        return None
    wrong = {
        name: f"{name} need a string"
        for name in ("email", "password")
        if not isinstance(row.form.get(name, ""), str)
    }
    return _wrong(**wrong) if wrong else None


@decision("emails", "Emails are compared without case, so one email is one account.")
def _case(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    mail = row.form.get("email", "")
    if row.operation != "POST token" or not isinstance(mail, str) or mail == mail.lower():
        return None
    return _as_in("login bob", so_far, counts, scenario)


def _as_in(name: str, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected:
    """The answer to another row of the scenario."""
    from .replay import translated

    row = next(each for each in scenario.rows if each.name == name)
    return Expected(replace(row.answer, body=translated(row)[0]))


@decision("one account a mail", "An account cannot take the email of another.")
def _mail(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.name.startswith("admin gives bob the admin e-mail"):
        return _refused()
    if row.name == "register over banned":
        return _refused("USER_EXIST")
    return None


@decision("mass assignment", "Registering cannot turn on two-factor authentication.")
def _mass(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.name != "login of that user":
        return None
    mail = row.fields["email"]
    return _says(
        {
            "objectId": UNRECORDED,
            "email": mail,
            "display_name": "M",
            "url": "",
            "type": "guest",
            "label": None,
            "avatar": AVATAR + md5_of(mail),
            "2fa": None,
            "password": None,
            "token": "its token",
        }
    )


@decision("logout", "A logout ends the token; Waline's token stays valid.")
def _log_out(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation == "DELETE token":
        return _says("")
    if row.name.endswith("token still valid after DELETE"):
        return replace(_says({}), is_ended=True)
    return None


@decision("not oneself", "Administrators cannot ban themselves, however they spell the id.")
def _oneself(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.name.startswith("admin deletes himself"):
        return _refused()
    if row.name != "token of the self-deleted admin":
        return None
    before = _as_in("first admin token after demotion", so_far, counts, scenario).answer.body
    return _says(before["data"] | {"type": "administrator"})


@decision(
    "verification", "The link names its account itself, so that nobody learns whose email has one."
)
def _verification(
    row: Row, so_far: Expected, counts: Counts, scenario: Scenario
) -> Expected | None:
    return _refused("TOKEN_EXPIRED") if row.operation == "GET verification" else None


@decision(
    "recovery codes",
    "Setting up two-factor authentication returns ten recovery codes, shown only this once.",
)
def _recovery(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    return _says({"recovery": ["a code"] * 10}) if row.name == "2fa enable" else None


@form("recovery codes, each", "No two accounts have the same recovery codes.")
def _codes(record: Record, reader: Reader) -> Record:
    codes = record.get("recovery", ())
    if not codes or len({*codes}) < len(codes) or not reader.is_ours:
        return record
    are = all(re.fullmatch("[a-z2-9]{10}", code) for code in codes)
    return record | {"recovery": ["a code"] * len(codes) if are else codes}


@decision(
    "to another service",
    "The redirect carries a proof that it is the same browser, and no token. It names no page, "
    "and a service that does not exist is named as such.",
)
def _oauth(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET oauth":
        return None
    if "type" not in row.query:
        listed = ",".join(f'"{service}"' for service in SERVICES)
        return _wrong(type=f"type need in an array of [{listed}]")
    headers = so_far.answer.headers
    return Expected(Answer(302, JSON | {"location": led_to(headers["location"])}, ""))


def led_to(location: str) -> str:
    """Where a browser is sent, by the service and by the address that it returns to."""
    parts = urlsplit(location)
    back = urlsplit(parse_qs(parts.query)["redirect"][0])
    service, type = parts.path.strip("/"), parse_qs(back.query)["type"][0]
    return f"to {service}, and back to {back.path} of {type}"


# Lists of accounts.


@decision(
    "lists of accounts",
    "The newest account comes first, also of those of one second, which Waline lists by "
    "their ids. Accounts that were rejected here are not listed.",
)
def _listed(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    page = unwrapped(so_far.answer.body)
    if row.operation != "GET user" or not isinstance(page, dict) or "totalPages" not in page:
        return None
    refused = {
        each.fields.get("email", "")
        for each in scenario.rows
        if _faults(each) and not each.answer.body["errno"]
    }
    oldest_first = _every_account(row, scenario)
    kept = [each for each in reversed(oldest_first) if each["email"] not in refused]
    number = int(row.asked("page") or 1)
    size = int(row.asked("pageSize") or DEFAULT_SIZE)
    cut = page | {
        "totalPages": -(-len(kept) // size),
        "data": kept[(number - 1) * size : number * size],
    }
    body = wrapped_like(so_far.answer.body, cut)
    return replace(so_far, answer=replace(so_far.answer, body=body))


def _every_account(row: Row, scenario: Scenario) -> list[Record]:
    """All accounts, from the nearest recorded list that is one page."""
    from .replay import translated

    pages = [
        (abs(other.index - row.index), unwrapped(translated(other)[0]))
        for other in scenario.rows
        if other.operation == "GET user" and isinstance(other.data, dict)
    ]
    whole = [(far, p) for far, p in pages if p.get("totalPages") == 1 and p.get("data")]
    records: list[Record] = min(whole, key=lambda each: each[0])[1]["data"]
    return records


@decision(
    "ranking",
    "An author with an account is listed once, as the account; Waline lists what they "
    "typed. Authors without an email are not distinguished. Without a size, the default applies.",
)
def _ranking(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET user" or not isinstance(row.data, list):
        return None
    numbers, faces = Counter[Any](), dict[Any, Record]()
    for author, face in _approved(row, scenario):
        numbers[author] += 1
        faces[author] = face
    size = int(row.asked("pageSize") or 0) or DEFAULT_RANKED
    ranked = [{"count": n, **faces[author]} for author, n in numbers.most_common(size)]
    return _says(in_order_of_counts(ranked))


def in_order_of_counts(ranked: list[Record]) -> list[Record]:
    return sorted(ranked, key=lambda each: (-each["count"], each["nick"]))


def _approved(row: Row, scenario: Scenario) -> Iterator[tuple[Any, Record]]:
    """(author, how they are shown) for each comment that is approved before this row."""
    statuses = dict[int, str]()
    for each in scenario.rows[: row.index]:
        if each.operation in ("POST comment", "PUT comment") and each.data:
            statuses[each.data.get("objectId", each.data.get("id"))] = each.data["status"]
    for number, status in statuses.items():
        posted = scenario.posted[number]
        if status != "approved":
            continue
        if account := posted.data.get("user_id"):
            yield account, _profile(account, row, scenario)
        elif posted.fields.get("mail"):
            shown = {name: posted.fields[name] for name in ("nick", "link")}
            yield posted.fields["mail"], shown | {"avatar": posted.data["avatar"]}


def _profile(account: int, row: Row, scenario: Scenario) -> Record:
    """How an account is shown, by the latest answer before this row that has it."""
    known = next(
        each.data
        for each in reversed(scenario.rows[: row.index])
        if each.operation in ("POST token", "GET token")
        and each.data
        and each.data.get("objectId") == account
    )
    return {"nick": known["display_name"], "link": known["url"], "avatar": known["avatar"]}
