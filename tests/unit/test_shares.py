"""How much one client, and all together, may have waiting."""

from contextlib import ExitStack

import pytest

from footfall.domain.shares import Client, Shares, client_of
from footfall.errors import Busy, TooManyAtOnce
from footfall.model import Account, Caller, Viewer


def by(role: str, address: str, name: str = "ann") -> Client:
    account = Account(name, role, name, f"{name}@example.com") if role else None  # type: ignore[arg-type]
    return client_of(Caller(Viewer(account), address))


def test_a_client_has_its_share_and_others_have_theirs() -> None:
    shares = Shares(10, 100)
    with ExitStack() as stack:
        # There was room, so it is let in whole.
        stack.enter_context(shares.room(by("", "192.0.2.1"), 99))
        with pytest.raises(TooManyAtOnce) as refused, shares.room(by("", "192.0.2.1"), 1):
            pass
        assert refused.value.headers == {"retry-after": "1"}
        stack.enter_context(shares.room(by("", "192.0.2.2"), 1))
        with pytest.raises(Busy), shares.room(by("", "192.0.2.3"), 1):
            pass
    with shares.room(by("", "192.0.2.1"), 1), shares.room(by("", "192.0.2.3"), 1):
        pass


def test_what_is_done_leaves_nothing_behind() -> None:
    shares = Shares(10, 100)
    for n in range(5):
        with pytest.raises(ZeroDivisionError), shares.room(by("guest", f"192.0.2.{n}"), 7):
            raise ZeroDivisionError
    assert (shares._taken, dict(shares._shares)) == (0, {})


@pytest.mark.parametrize(
    ("one", "other", "is_shared"),
    [
        (by("", "192.0.2.1"), by("", "192.0.2.2"), False),
        (by("", "2001:db8::1"), by("", "2001:db8::2"), True),
        (by("guest", "192.0.2.1"), by("", "192.0.2.1"), True),
        (by("guest", "192.0.2.1"), by("guest", "192.0.2.1", "bob"), True),
        (by("guest", "192.0.2.1"), by("guest", "192.0.2.2"), True),
        (by("administrator", "192.0.2.1"), by("guest", "192.0.2.1", "bob"), False),
        (by("administrator", "192.0.2.1"), by("administrator", "192.0.2.2"), True),
    ],
)
def test_an_address_and_an_account_have_one_share_each(
    one: Client, other: Client, is_shared: bool
) -> None:
    shares = Shares(1, 100)
    with shares.room(one, 1):
        try:
            with shares.room(other, 1):
                assert not is_shared
        except TooManyAtOnce:
            assert is_shared
