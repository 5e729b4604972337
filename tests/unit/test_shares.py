"""How much one client, and all together, may have waiting."""

from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path

import pytest

from footfall.comments.rules.live import MAX_CLIENT_STREAMS, MAX_STREAMS
from footfall.comments.rules.renderer import Renderer
from footfall.errors import Busy, TooManyAtOnce
from footfall.model import Account, Caller, Viewer
from footfall.process.shares import QueuedClient, Shares, queued_client_of
from footfall.site import Comments


def by(role: str, address: str, name: str = "ann") -> QueuedClient:
    account = Account(name, role, name, f"{name}@example.com") if role else None  # type: ignore[arg-type]
    return queued_client_of(Caller(Viewer(account), address))


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


def test_a_network_of_ipv6_has_at_most_half_of_all_and_as_much_as_thirty_two_clients() -> None:
    for shares, most in ((Shares(8, 1_000), 256), (Shares(8, 100), 50)):
        let_in = 0
        with ExitStack() as stack:
            for n in range(65_536):
                try:
                    stack.enter_context(shares.room(by("", f"2001:db8:8:{n:x}::1"), 1))
                except TooManyAtOnce:
                    break
                let_in += 1
            assert let_in == most
            stack.enter_context(shares.room(by("", "2001:db8:9::1"), 1))
            stack.enter_context(shares.room(by("", "192.0.2.1"), 1))


def _feed_shares() -> Shares:
    (made,) = [field.default_factory for field in fields(Comments) if field.name == "feed_shares"]
    return made()  # type: ignore[no-any-return, operator]


def test_the_table_of_bounds_says_what_a_client_and_a_network_may() -> None:
    table = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    for what, shares in (
        ("Queued characters of comments, per worker", Renderer().shares),
        ("Queued feeds, per worker", _feed_shares()),
        ("Streams of `/api/live`, per worker", Shares(MAX_CLIENT_STREAMS, MAX_STREAMS)),
    ):
        (cells,) = [line.split("|") for line in table.splitlines() if f"| {what} |" in line]
        assert [cells[2].strip(), cells[3].split()[-1]] == [
            f"{shares.each:,}",
            f"{shares.of_network:,}",
        ]


def test_a_network_of_ipv6_takes_turns_as_one_client() -> None:
    assert len({by("", f"2001:db8:8:{n:x}::1").turn for n in range(65_536)}) == 1
    assert len({by("", f"192.0.2.{n}").turn for n in range(256)}) == 256


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
    one: QueuedClient, other: QueuedClient, is_shared: bool
) -> None:
    shares = Shares(1, 100)
    with shares.room(one, 1):
        try:
            with shares.room(other, 1):
                assert not is_shared
        except TooManyAtOnce:
            assert is_shared
