"""Accounts: register, change, list, ban, and passwords that were lost: what clients know as `user`.

The names of fields are the reference's. What a request may not set is not read.
"""

from dataclasses import dataclass, replace
from typing import cast

import orjson

from ..domain import accounts, banning, links, mail_change, reauthentication, registration
from ..domain.accounts import Changes
from ..domain.captcha import Proof
from ..domain.mails import canonical, is_mail
from ..domain.passwords import MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS, TOO_SHORT
from ..domain.ranking import ranking
from ..domain.reauthentication import OwnerProof
from ..domain.registration import Applicant
from ..domain.site import Site
from ..errors import BadRequest, Denied, UserExists
from ..http.fetch_metadata import require_navigation
from ..http.params import (
    MAX_CAPTCHA,
    MAX_ID,
    MAX_LINK,
    MAX_MAIL,
    MAX_NICK,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    Form,
    RawRequest,
)
from ..http.response import Response
from ..markup import safe_link, safe_nick
from ..model import PUBLIC, ROLES, Account, Caller, Role
from ..render.view import View
from .comments import captcha_token
from .session import MAX_LINK_TOKEN_CHARACTERS, described, parse_proof

# The reference's words where a mail is none.
NO_MAIL = "email need an email under your options"
MAX_LABEL = 32
DEFAULT_SIZE = 10
# Authors in the public ranking.
DEFAULT_RANKED, MAX_RANKED = 20, 50


def _mail(form: Form, *, is_required: bool = False) -> str | None:
    mail = form.text("email", MAX_MAIL, required=NO_MAIL if is_required else "")
    if mail and not is_mail(mail):
        form.wrong("email", NO_MAIL)
    return mail


def _password(form: Form, required: str = "") -> str | None:
    password = form.text("password", MAX_PASSWORD_CHARACTERS, required=required)
    if password and len(password) < MIN_PASSWORD_CHARACTERS:
        form.wrong("password", TOO_SHORT)
    return password


def _nick(form: Form, required: str = "") -> str | None:
    nick = form.text("display_name", MAX_NICK, required=required)
    return nick and safe_nick(nick)


def _link(form: Form, name: str) -> str | None:
    link = form.text(name, MAX_LINK)
    return link and safe_link(link)


def parse_applicant(request: RawRequest, site: Site) -> Applicant:
    form = Form(request.fields)
    applicant = Applicant(
        nick=_nick(form, "display_name can not be blank") or "",
        mail=_mail(form, is_required=True) or "",
        password=_password(form, "password can not be blank") or "",
        link=_link(form, "url") or "",
        setup_code=form.text("setup_code", MAX_PASSWORD_CHARACTERS) or "",
        proof=Proof(captcha_token(form, site), form.text("work", MAX_CAPTCHA) or ""),
    )
    form.done()
    return applicant


async def register(site: Site, applicant: Applicant, caller: Caller) -> object:
    """As the reference does, it says if the address has to be confirmed first."""
    is_asked = await registration.register(site, applicant, caller)
    return {"verify": True} if is_asked else ""


async def challenge(site: Site, _: None, caller: Caller) -> object:
    return await site.captcha.challenge()


@dataclass(frozen=True, slots=True)
class Edit:
    """Of the account with this id; of one's own without."""

    id: str
    changes: Changes
    label: str | None
    role: Role | None
    proof: OwnerProof = OwnerProof()

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Edit":
        form = Form(request.fields)
        # A blank name or address leaves what there is, as in the reference.
        changes = Changes(
            nick=_nick(form) or None,
            link=_link(form, "url") or None,
            avatar=_link(form, "avatar") or None,
            mail=_mail(form) or None,
            password=_password(form) or None,
            removes_second_factor=request.fields.get("2fa") == "",
            forgotten=frozenset(
                name for name in site.providers.known() if request.fields.get(name) == ""
            ),
        )
        label = form.text("label", MAX_LABEL)
        role = form.choice("type", "", ROLES)
        proof = parse_proof(form)
        form.done()
        label = label and safe_nick(label)
        return cls(request.id, changes, label, cast(Role, role) or None, proof)


async def edit(site: Site, parsed: Edit, caller: Caller) -> object:
    """One's own account, or as an administrator anybody's, with its label and role."""
    account = caller.viewer.account
    if account is None or (parsed.id and not caller.viewer.is_administrator):
        raise Denied()
    id, changes, role = parsed.id or account.id, parsed.changes, None
    asked: str | None = None
    if caller.viewer.is_administrator:
        # Nobody else: a badge beside a name says what the site's owner says of its bearer.
        changes = replace(changes, label=parsed.label)
        role = parsed.role if parsed.id else None
    try:
        await reauthentication.require_for(site, id, changes, role, parsed.proof, caller)
        is_own = id == account.id
        if is_own and changes.mail and await mail_change.is_needed(site, id, changes.mail):
            await mail_change.require_turn(site, changes.mail, caller)
            changes, asked = replace(changes, mail=None), changes.mail
        if role:
            await banning.give_role(site, id, role, caller, changes)
        else:
            session = caller.viewer.session if is_own else ""
            await accounts.edit(site, id, changes, session)
    except UserExists:
        # The reference does not say either whose mail it is.
        raise Denied() from None
    if not asked:
        return ""
    # Behind the rest: another password ends the links of the old one.
    await mail_change.begin(site, account, asked, caller)
    return {"verify": True}


def parse_id(request: RawRequest, site: Site) -> str:
    return request.id[:MAX_ID]


async def ban(site: Site, id: str, caller: Caller) -> object:
    """Ban an account, or remove one whose mail was never verified."""
    account = caller.viewer.account
    if account is None or not caller.viewer.is_administrator or id == account.id:
        raise Denied()
    stored = await site.accounts.by_id(id)
    if stored is None:
        raise Denied()
    if stored.account.role == "unverified":
        await banning.remove(site, id, caller)
    else:
        await banning.give_role(site, id, "banned", caller)
    return ""


@dataclass(frozen=True, slots=True)
class List:
    """So many accounts, or the one with this mail, for administrators; for others the authors of
    most comments."""

    page: int
    size: int
    mail: str

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "List":
        form = Form(request.query)
        page = form.integer("page", 1, MAX_PAGE)
        size = form.integer("pageSize", 0, MAX_PAGE_SIZE)
        mail = form.text("email", MAX_MAIL)
        form.done()
        return cls(page, size, mail or "")


async def list_(site: Site, parsed: List, caller: Caller) -> object:
    if not caller.viewer.is_administrator:
        return await _ranking(site, parsed)
    if parsed.mail:
        stored = await site.accounts.by_mail(canonical(parsed.mail))
        return _row(site, stored.account) if stored else ""
    size = parsed.size or DEFAULT_SIZE
    first = (parsed.page - 1) * size
    total, found = await site.accounts.listed(first, size, is_newest_first=True)
    return {
        "page": parsed.page,
        "totalPages": -(-total // size),
        "pageSize": size,
        "data": [_row(site, account) for account in found],
    }


def _row(site: Site, account: Account) -> dict[str, object]:
    shown = described(site.display, account)
    if created := accounts.created_at(account):
        shown["createdAt"] = created
    return shown


async def _ranking(site: Site, parsed: List) -> list[dict[str, object]]:
    size = parsed.size or DEFAULT_RANKED
    if size > MAX_RANKED:
        raise BadRequest({"pageSize": "pageSize need an integer under your options"})
    numbers, showing = await ranking(site, size)
    faces = map(orjson.loads, View(PUBLIC, site.display).elsewhere(showing))
    return [
        {
            "count": number,
            **({"level": site.display.level(number)} if site.display.levels else {}),
            **{name: face[name] or "" for name in ("nick", "link", "avatar")},
        }
        for number, face in zip(numbers, faces, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class LostPassword:
    """Of the account with a mail; or a new password, with a link's token."""

    mail: str
    token: str
    password: str

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "LostPassword":
        form = Form(request.fields)
        token = form.text("token", MAX_LINK_TOKEN_CHARACTERS) or ""
        mail = "" if token else _mail(form, is_required=True) or ""
        password = _password(form, "password can not be blank") if token else ""
        form.done()
        return cls(mail, token, password or "")


async def lost_password(site: Site, parsed: LostPassword, caller: Caller) -> object:
    """Where no mails are sent, an administrator makes a link by command."""
    if parsed.token:
        await links.set_password(site, parsed.token, parsed.password, caller)
    elif site.account_mails.are_sent:
        await links.forgotten(site, parsed.mail, caller)
    else:
        raise Denied()
    return ""


def parse_verification(request: RawRequest, site: Site) -> str:
    require_navigation(request.headers)
    require_navigation(request.headers)
    form = Form(request.query)
    token = form.text("token", MAX_LINK_TOKEN_CHARACTERS) or ""
    form.done()
    return token


async def lead(site: Site, token: str, caller: Caller) -> Response:
    """To the page that confirms. Nothing is done here: scanners of mails open links, too."""
    await registration.held_by(site, token)
    page = f"{site.providers.targets.server_url}/ui/confirm#{token}"
    return Response(302, b"", [(b"location", page.encode())])


@dataclass(frozen=True, slots=True)
class Confirmation:
    token: str
    password: str

    @classmethod
    def parse(cls, request: RawRequest, site: Site) -> "Confirmation":
        form = Form(request.fields)
        token = form.text("token", MAX_LINK_TOKEN_CHARACTERS, required="token can not be blank")
        password = form.text("password", MAX_PASSWORD_CHARACTERS)
        form.done()
        return cls(token or "", password or "")


async def confirm(site: Site, parsed: Confirmation, caller: Caller) -> object:
    """Use up the link in a mail; which account it is for, the link knows."""
    # The token of a link for an account names it.
    work = mail_change.confirm if "." in parsed.token else registration.confirm
    await work(site, parsed.token, parsed.password, caller)
    return ""
