"""Waline's templates for avatars and emails: they are Nunjucks, and run as Jinja.

Nunjucks descends from Jinja, and differs in JavaScript's regular expressions and comparisons, which
are translated. Operators write templates, which are trusted; strangers' words are filled in, and
percent-encoded or escaped.
"""

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import re2
from jinja2 import ChainableUndefined, Template, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from .encoding import in_address, in_component, md5_of

_TAG = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_EXPRESSION = re.compile(r"""\br/((?:[^/\\\n]|\\.)+)/([gimuy]*)""")
_SELF = re.compile(r"\bself\b")
_SAMPLES = (("Bob", "bob@example.com", "https://bob.example"), ("10001", "1@qq.com", ""), ("",) * 3)


class _Expression:
    """A regular expression in a template, by RE2, whose time is linear for any name."""

    def __init__(self, pattern: str, flags: str) -> None:
        options = re2.Options()
        options.case_sensitive = "i" not in flags
        options.log_errors = False
        self._pattern = re2.compile(pattern, options)

    def test(self, text: object) -> bool:
        return self._pattern.search(str(text)) is not None


def compile_template(
    text: str, variables: Sequence[str], key: str
) -> Callable[[Mapping[str, str]], str]:
    """A function that fills the template in. Raises ValueError for an invalid one.

    `variables` are the names that it may use; `key` is AVATAR_KEY, for the filter `keyed`.
    """
    environment = _environment(key)
    source = _TAG.sub(lambda tag: _jinja(tag[0]), text)
    unknown, template = _parsed(environment, source, variables)
    if unknown:
        raise ValueError(f"{min(unknown)!r} is none of {', '.join(variables)}")

    for sample in _SAMPLES:
        try:
            template.render(zip(variables, sample, strict=True))
        # A template can raise anything. It is tried out now, so that the operator learns of it.
        except Exception as error:
            raise ValueError(f"the template cannot be filled in: {error}") from None

    def fill(values: Mapping[str, str]) -> str:
        try:
            return template.render(values).strip()
        # It fails for this name alone: the comment is stored without a picture.
        except Exception:
            return ""

    return fill


def _parsed(
    environment: SandboxedEnvironment, source: str, variables: Sequence[str]
) -> tuple[set[str], Template]:
    """Variables that a template may not use, and the template. Raises ValueError."""
    try:
        unknown = meta.find_undeclared_variables(environment.parse(source)) - set(variables)
        return unknown, environment.from_string(source)
    except TemplateError as error:
        raise ValueError(f"the template cannot be read: {error}") from None
    except RecursionError:
        raise ValueError("the template cannot be read: it is nested too deeply") from None


def compile_text(
    text: str, variables: Sequence[str], *, is_html: bool
) -> Callable[[Mapping[str, Any]], str]:
    """A function that fills in a subject or an email, with values that may be objects.

    Missing values are empty, as in Nunjucks; `self` is called `self_`, as Jinja has one of its own.
    Raises ValueError for an invalid template; the function does, too.
    """
    environment = SandboxedEnvironment(autoescape=is_html, undefined=ChainableUndefined)
    environment.globals = {"regex": _Expression}
    source = _TAG.sub(lambda tag: _SELF.sub("self_", _jinja(tag[0])), text)
    unknown, template = _parsed(environment, source, variables)
    unknown -= environment.globals.keys()
    if unknown:
        raise ValueError(f"{min(unknown)!r} is none of self, parent and site")

    def fill(values: Mapping[str, Any]) -> str:
        try:
            return template.render(values)
        # A template can raise anything.
        except Exception as error:
            raise ValueError(f"the template cannot be filled in: {error}") from None

    return fill


def _jinja(tag: str) -> str:
    tag = _EXPRESSION.sub(lambda match: f"regex({match[1]!r}, {match[2]!r})", tag)
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
