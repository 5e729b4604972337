"""What happens to a new comment: approved, waiting, spam, or not taken at all."""

from dataclasses import dataclass

from ..errors import Forbidden, Unauthorized
from ..model import Caller, Status, Viewer
from ..netaddr import Networks
from ..patterns import Patterns


@dataclass(frozen=True, slots=True)
class Rules:
    """`window_ms` is the time between two comments from one address; 0 is no limit.

    `comment_length` is in characters.
    """

    window_ms: int = 0
    comment_length: int = 16_384
    is_audited: bool = False
    forbidden: Patterns | None = None
    disallowed: Networks = Networks()


def require_allowed(caller: Caller, rules: Rules) -> None:
    """Raises Forbidden for an address that may not comment; administrators may from anywhere."""
    if not caller.viewer.is_administrator and caller.address in rules.disallowed:
        raise Forbidden()


def verdict(caller: Caller, rules: Rules, *, has_forbidden_words: bool) -> Status:
    """Administrators pass everything; who is held for a word is not told, as in the reference."""
    if caller.viewer.is_administrator:
        return "approved"
    if has_forbidden_words:
        return "spam"
    return "waiting" if rules.is_audited else "approved"


def require_administrator(viewer: Viewer) -> None:
    """Raises Unauthorized for the public, Forbidden for everybody else."""
    if viewer.account is None:
        raise Unauthorized()
    if not viewer.is_administrator:
        raise Forbidden()
