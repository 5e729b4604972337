"""Templates of the reference server, which are Nunjucks, by way of Jinja, which that descends from.

They differ in the regular expressions and comparisons of JavaScript. A template is an operator's
and may be trusted; what it is filled with is a stranger's, and may not leave the address.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

import re2
from jinja2 import TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from .avatar import Template, in_address, in_component, md5_of

_TAG = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_EXPRESSION = re.compile(r"""\br/((?:[^/\\\n]|\\.)+)/([gimuy]*)""")
_SAMPLES = (("Bob", "bob@example.com", "https://bob.example"), ("10001", "1@qq.com", ""), ("",) * 3)


class _Expression:
    """What a template may do with a regular expression, in time that no name can draw out."""

    def __init__(self, pattern: str, flags: str) -> None:
        options = re2.Options()
        options.case_sensitive = "i" not in flags
        options.log_errors = False
        self._pattern = re2.compile(pattern, options)

    def test(self, text: object) -> bool:
        return self._pattern.search(str(text)) is not None


def compile_template(text: str, variables: Sequence[str], key: str) -> Template:
    """Raises ValueError that says what is not understood."""
    environment = _environment(key)
    source = _TAG.sub(lambda tag: _jinja(tag[0]), text)
    try:
        unknown = meta.find_undeclared_variables(environment.parse(source)) - set(variables)
        template = environment.from_string(source)
    except TemplateError as error:
        raise ValueError(f"the template cannot be read: {error}") from None
    if unknown:
        raise ValueError(f"{min(unknown)!r} is none of {', '.join(variables)}")

    for sample in _SAMPLES:
        try:
            template.render(zip(variables, sample, strict=True))
        # A template may do anything; whatever it is, the operator hears of it now.
        except Exception as error:
            raise ValueError(f"the template cannot be filled in: {error}") from None

    def fill(known: Mapping[str, str]) -> str:
        try:
            return template.render(known).strip()
        # As before, but for one person alone, whose comment is worth more than a picture.
        except Exception:
            return ""

    return fill


def _jinja(tag: str) -> str:
    tag = _EXPRESSION.sub(lambda found: f"regex({found[1]!r}, {found[2]!r})", tag)
    tag = tag.replace("===", "==").replace("!==", "!=")
    return re.sub(r"(\{%-?\s*)elseif\b", r"\1elif", tag)


def _environment(key: str) -> SandboxedEnvironment:
    def keyed(text: str) -> str:
        if not key:
            raise ValueError("the filter keyed needs an AVATAR_KEY")
        return hmac.new(key.encode(), str(text).encode(), sha256).hexdigest()

    environment = SandboxedEnvironment(finalize=lambda value: in_address(str(value)))
    environment.globals = {"regex": _Expression}
    environment.filters |= {
        "md5": lambda text: md5_of(str(text)),
        "sha256": lambda text: sha256(str(text).encode()).hexdigest(),
        "keyed": keyed,
        "urlencode": lambda text: in_component(str(text)),
    }
    return environment
