"""The address of a commentator's picture, by a template that an operator may set.

The default is Waline's: QQ's picture if nick or email has a QQ number, else
Libravatar's, whose address contains the MD5 of the email address. Anybody can check a guess by that
hash, so a template may use an HMAC, and avatars may be turned off.
"""

import re
from collections.abc import Callable, Mapping

from .encoding import md5_of
from .proxy import proxied

Avatar = Callable[[str, str, str], str]

VARIABLES = ("nick", "mail", "link")
_QQ_MAIL = re.compile(r"([0-9]+)@qq\.com")


def compile_avatar(template: str, proxy: str, key: str = "") -> Avatar:
    """A function of (nick, email, link) that returns the picture's address.

    A blank template means the default, `none` no avatars. Raises ValueError for a template that
    cannot be used.
    """
    if is_none(template):
        return lambda nick, mail, link: ""
    # Makes an address of the values of VARIABLES, by name.
    fill: Callable[[Mapping[str, str]], str] = _default
    if template.strip():
        # Imported here, because Jinja takes 11 MB, which the default does not need.
        from .nunjucks import compile_template

        fill = compile_template(template.strip(), VARIABLES, key)

    def avatar(nick: str, mail: str, link: str) -> str:
        # Picture services hash email addresses in lower case, without spaces around them.
        return proxied(fill({"nick": nick, "mail": mail.strip().lower(), "link": link}), proxy)

    return avatar


def is_none(template: str) -> bool:
    """Does this template turn avatars off?"""
    return template.strip().lower() in ("none", "false")


def _default(values: Mapping[str, str]) -> str:
    nick, mail = values["nick"], values["mail"]
    qq = nick if re.fullmatch("[0-9]+", nick) else ""
    if not qq and (match := _QQ_MAIL.fullmatch(mail)):
        qq = match[1]
    if qq:
        return f"https://q1.qlogo.cn/g?b=qq&nk={qq}&s=100"
    return f"https://seccdn.libravatar.org/avatar/{md5_of(mail)}"
