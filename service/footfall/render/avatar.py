"""The address of a commentator's picture, from a template that an operator may set.

Without one it is what the reference server has: the picture of a QQ number where the nick or the
mail is one, else Libravatar's by the MD5 of the mail. Whoever has guessed a mail can verify it by
that hash, so a template may be keyed, or there may be no avatars at all.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import md5
from urllib.parse import quote

Avatar = Callable[[str, str, str], str]
# From nick, mail and link, by these names.
Template = Callable[[Mapping[str, str]], str]

VARIABLES = ("nick", "mail", "link")
# What may stand in an address as it is; the rest of a name is encoded, quotes above all.
_IN_ADDRESS = "/:?#[]@!$&()*+,;=%~"
# What JavaScript's encodeURIComponent leaves alone.
_IN_COMPONENT = "!~*'()"
_QQ_MAIL = re.compile(r"([0-9]+)@qq\.com")


def compile_avatar(template: str, proxy: str, key: str = "") -> Avatar:
    """A function of nick, mail and link; blank means the default, `none` no avatars.

    Raises ValueError that says what of the template is not understood.
    """
    if template.strip().lower() in ("none", "false"):
        return lambda nick, mail, link: ""
    fill: Template = _default
    if template.strip():
        # Here, since Jinja is 11 MB that the default does without.
        from .nunjucks import compile_template

        fill = compile_template(template.strip(), VARIABLES, key)

    def avatar(nick: str, mail: str, link: str) -> str:
        # Mail as the picture services hash it; hands add capitals and spaces.
        return proxied(fill({"nick": nick, "mail": mail.strip().lower(), "link": link}), proxy)

    return avatar


def proxied(address: str, proxy: str) -> str:
    if not (proxy and address) or proxy in address:
        return address
    return f"{proxy}?url={in_component(address)}"


def in_component(text: str) -> str:
    return quote(text, safe=_IN_COMPONENT)


def in_address(text: str) -> str:
    return quote(text, safe=_IN_ADDRESS)


def md5_of(text: str) -> str:
    # The picture services' choice; it hides nothing from whoever has a guess.
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _default(known: Mapping[str, str]) -> str:
    nick, mail = known["nick"], known["mail"]
    qq = nick if re.fullmatch("[0-9]+", nick) else ""
    if not qq and (found := _QQ_MAIL.fullmatch(mail)):
        qq = found[1]
    if qq:
        return f"https://q1.qlogo.cn/g?b=qq&nk={qq}&s=100"
    return f"https://seccdn.libravatar.org/avatar/{md5_of(mail)}"
