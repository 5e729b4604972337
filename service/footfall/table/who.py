"""Permissions of operations, which the endpoint checks before an operation runs.

Permissions that depend on the object, such as a comment's author, are checked by the operation. The
documents are made of these names.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import Denied, LoggedOut, ServiceError, Unauthorized
from ..model import StatisticsPublic, Viewer
from ..permissions import AccountRules, require_administrator, require_log_in, require_moderator


@dataclass(frozen=True, slots=True)
class Who:
    """`require` raises the error; `is_first`: before the fields are validated."""

    name: str
    require: Callable[[Viewer, AccountRules], None]
    is_first: bool = False


def _allow(viewer: Viewer, rules: AccountRules) -> None:
    """Everybody is permitted."""


def _logged_in(error: type[ServiceError]) -> Callable[[Viewer, AccountRules], None]:
    def require(viewer: Viewer, rules: AccountRules) -> None:
        if viewer.account is None:
            raise error()

    return require


def _administrator(viewer: Viewer, rules: AccountRules) -> None:
    require_administrator(viewer)


def _moderator(viewer: Viewer, rules: AccountRules) -> None:
    require_moderator(viewer)


def _quiet_administrator(viewer: Viewer, rules: AccountRules) -> None:
    if not viewer.is_administrator:
        raise Denied()


def _public(level: StatisticsPublic) -> Callable[[Viewer, AccountRules], None]:
    def require(viewer: Viewer, rules: AccountRules) -> None:
        if not rules.shows(level):
            require_administrator(viewer)

    return require


ANYBODY = Who("anybody", _allow)
# With LOGIN=force, every account.
COMMENTER = Who("anybody; with `LOGIN=force`, a person", require_log_in, is_first=True)
# Every account. Waline rejects other callers of these operations in one of three ways.
PERSON = Who("a person", _logged_in(LoggedOut))
MEMBER = Who("a person", _logged_in(Denied))
READER = Who("a person", _logged_in(Unauthorized))
# Whose comment it is, the operation finds out.
AUTHOR = Who("the author, or a moderator", _logged_in(Unauthorized))
EDITOR = Who("the author, or a moderator", _logged_in(Unauthorized), is_first=True)
ADMINISTRATOR = Who("an administrator", _administrator)
# Or an administrator. Before the fields: a stranger learns only that a login is needed.
MODERATOR = Who("a moderator", _moderator, is_first=True)
# STATISTICS_PUBLIC decides which statistics are public.
_AS_SAID = "an administrator; with `STATISTICS_PUBLIC="
PUBLIC_TOTALS = Who(f"{_AS_SAID}totals`, `top` or `all`, anybody", _public("totals"))
PUBLIC_TOP = Who(f"{_AS_SAID}top` or `all`, anybody", _public("top"))
PUBLIC_SERIES = Who(f"{_AS_SAID}all`, anybody", _public("all"))
QUIET_ADMINISTRATOR = Who("an administrator", _quiet_administrator)
