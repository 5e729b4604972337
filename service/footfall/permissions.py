"""Who may register, log in, moderate and administer."""

import hmac
from dataclasses import dataclass, replace
from typing import get_args

from .errors import Forbidden, Unauthorized
from .model import Account, Caller, Registration, StatisticsPublic, Viewer


@dataclass(frozen=True, slots=True)
class AccountRules:
    """`setup_code`: the first administrator must enter it; "" if none.

    With `must_log_in`, comments need an account. `statistics`: how much of them is public.
    """

    registration: Registration = "open"
    setup_code: str = ""
    must_log_in: bool = False
    statistics: StatisticsPublic = "totals"

    def shows(self, level: StatisticsPublic) -> bool:
        """Is this much of the statistics public?"""
        levels = get_args(StatisticsPublic)
        return levels.index(level) <= levels.index(self.statistics)

    @property
    def vacancy(self) -> str:
        """The warning while there is no administrator."""
        if self.registration == "closed":
            return "there is no administrator yet: create one with `footfall accounts add`"
        code = " with SETUP_CODE" if self.setup_code else ""
        return (
            f"there is no administrator yet: the first account registered{code} at /ui/register "
            "becomes one"
        )

    def openings(self, account: Account, setup_code: str) -> tuple[Account | None, Account | None]:
        """What this account may become as the first of all, and as any other; None: nothing."""
        knows_code = hmac.compare_digest(setup_code.encode(), self.setup_code.encode())
        may_be_first = self.registration != "closed" and (knows_code or not self.setup_code)
        return (
            replace(account, role="administrator") if may_be_first else None,
            account if self.registration == "open" else None,
        )


def require_log_in(viewer: Viewer, rules: AccountRules) -> None:
    """Raises Unauthorized if comments need an account."""
    if rules.must_log_in and viewer.account is None:
        raise Unauthorized()


def require_moderator(viewer: Viewer) -> None:
    """Raises Unauthorized for the public, Forbidden for other callers."""
    _require(viewer, is_met=viewer.is_moderator)


def require_administrator(viewer: Viewer) -> None:
    """Raises Unauthorized, Forbidden."""
    _require(viewer, is_met=viewer.is_administrator)


def _require(viewer: Viewer, *, is_met: bool) -> None:
    if viewer.account is None:
        raise Unauthorized()
    if not is_met:
        raise Forbidden()


def account_id(caller: Caller) -> str:
    """The id of the caller's account; "" without one."""
    return caller.viewer.account.id if caller.viewer.account else ""
