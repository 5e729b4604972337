"""Pools: who has a place, whose turn is next, and who gives way."""

import asyncio
from contextlib import ExitStack

import pytest

from footfall.errors import Busy, TooManyAtOnce
from footfall.limits.clients import ANYBODY, BACKGROUND, PoolClient, known_client, pool_client_of
from footfall.limits.pool import Pool, Shares
from footfall.model import Account, Caller, Viewer


def by(role: str, address: str, name: str = "ann") -> PoolClient:
    account = Account(name, role, name, f"{name}@example.com") if role else None  # type: ignore[arg-type]
    return pool_client_of(Caller(Viewer(account), address))


def stranger(n: int) -> PoolClient:
    return by("", f"192.0.2.{n}")


# --- shares


def test_a_client_has_its_share_and_others_have_theirs() -> None:
    shares = Shares(capacity=100, each=10)
    with ExitStack() as stack:
        # There was room, so it is let in whole.
        stack.enter_context(shares.room(stranger(1), 99))
        with pytest.raises(TooManyAtOnce) as refused, shares.room(stranger(1)):
            pass
        assert refused.value.headers == {"retry-after": "1"}
        stack.enter_context(shares.room(stranger(2)))
        with pytest.raises(Busy), shares.room(stranger(3)):
            pass
    with shares.room(stranger(1)), shares.room(stranger(3)):
        pass


@pytest.mark.parametrize("attacker", ["192.0.2.1", "2001:db8:8::1"])
def test_a_client_that_is_refused_and_does_not_wait_is_kept_out(
    monkeypatch: pytest.MonkeyPatch, attacker: str
) -> None:
    now = [1000.0]
    monkeypatch.setattr("footfall.limits.pool.monotonic", lambda: now[0])
    shares = Shares(capacity=100, each=4)
    client = by("", attacker)
    of_client = shares.of_network if client.is_network else shares.each

    def is_refused(who: PoolClient) -> int:
        """How long to wait, in ms; 0 if there was a place."""
        try:
            with shares.room(who):
                return 0
        except TooManyAtOnce as error:
            return error.wait_ms

    with ExitStack() as stack:
        for n in range(of_client):
            stack.enter_context(shares.room(by("", attacker.replace("8::", f"8:{n // 4:x}::"))))
        for _ in range(2 * of_client):
            assert is_refused(client) == 1000
    # It could have come twice as often as its share has places, and no more.
    assert is_refused(client) == 0
    with ExitStack() as stack:
        stack.enter_context(shares.room(client, of_client + 1))
        for _ in range(1000):
            assert is_refused(client) > 0
    assert is_refused(client) > 9_000
    assert is_refused(by("", "192.0.2.2")) == is_refused(by("", "2001:db8:9::1")) == 0
    # It waits as it was told, and for no longer than that.
    now[0] += 11
    assert is_refused(client) == 0


def test_those_of_a_proxy_that_names_nobody_do_not_pay_for_each_other() -> None:
    shares = Shares(capacity=1, each=1)
    with shares.room(ANYBODY):
        for _ in range(100):
            with pytest.raises(Busy), shares.room(ANYBODY):
                pass
    with shares.room(ANYBODY):
        pass


async def test_what_is_done_leaves_nothing_behind() -> None:
    pool = Pool(at_once=2, capacity=100, each=10)
    fresh = {name: repr(value) for name, value in vars(pool).items()}
    for n in range(5):
        with pytest.raises(ZeroDivisionError):
            async with pool.turn(by("guest", f"192.0.2.{n}"), 7):
                raise ZeroDivisionError
    left = {name: repr(value) for name, value in vars(pool).items()}
    # The highest load there was bounds a search for the highest of now.
    assert {name for name in fresh if fresh[name] != left[name]} == {"_ceiling"}


def test_a_network_of_ipv6_has_at_most_a_third_of_all_and_as_much_as_thirty_two_clients() -> None:
    for shares, most in ((Shares(1_000, 8), 256), (Shares(99, 8), 33)):
        let_in = 0
        with ExitStack() as stack:
            for n in range(65_536):
                try:
                    stack.enter_context(shares.room(by("", f"2001:db8:8:{n:x}::1")))
                except TooManyAtOnce:
                    break
                let_in += 1
            assert let_in == most
            stack.enter_context(shares.room(by("", "2001:db8:9::1")))
            stack.enter_context(shares.room(stranger(1)))


def test_a_network_of_ipv6_takes_turns_as_one_client() -> None:
    assert len({by("", f"2001:db8:8:{n:x}::1").turn for n in range(65_536)}) == 1
    assert len({stranger(n).turn for n in range(256)}) == 256


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
        (known_client("browser 1"), by("", "192.0.2.1"), False),
    ],
)
def test_an_address_and_an_account_have_one_share_each(
    one: PoolClient, other: PoolClient, is_shared: bool
) -> None:
    shares = Shares(capacity=100, each=1)
    with shares.room(one):
        try:
            with shares.room(other):
                assert not is_shared
        except TooManyAtOnce:
            assert is_shared


# --- who gives way


class Held:
    """Places that can be evicted, and whose were."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self.evicted = list[str]()

    def enter(self, client: PoolClient) -> None:
        self.shares.enter(client, evict=lambda: self.evicted.append(client.turn))


def test_a_full_pool_takes_from_the_client_that_has_most() -> None:
    held = Held(Shares(capacity=12, each=8))
    for n in (1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3):
        held.enter(stranger(n))
    for n in range(4, 8):
        held.enter(stranger(n))
    assert held.evicted == [stranger(n).turn for n in (1, 1, 1, 2)]
    assert held.shares.taken == 12


def test_of_strangers_with_a_place_each_none_gives_way_but_for_who_is_known() -> None:
    held = Held(Shares(capacity=50, each=4))
    for n in range(50):
        held.enter(stranger(n))
    with pytest.raises(Busy):
        held.enter(stranger(51))
    for _ in range(4):
        held.enter(known_client("browser 1"))
    held.enter(by("guest", "192.0.2.60"))
    assert len(held.evicted) == 5


def test_what_is_being_done_is_not_evicted() -> None:
    shares = Shares(capacity=4, each=4)
    for _ in range(4):
        shares.enter(stranger(1))
    with pytest.raises(Busy):
        shares.enter(stranger(2))


@pytest.mark.parametrize(
    "attackers",
    [
        [by("", "192.0.2.1")],
        [by("", f"2001:db8:8:{n:x}::1") for n in range(256)],
        [stranger(n) for n in range(50)],
    ],
    ids=["one address", "a /48", "fifty addresses"],
)
async def test_a_newcomer_waits_for_one_turn_of_each_attacker_at_most(
    attackers: list[PoolClient],
) -> None:
    """However many they send, and however often they come again."""
    pool, came = Pool(at_once=2, capacity=128, each=8), list[PoolClient]()
    is_over = False

    async def attack(client: PoolClient) -> None:
        while not is_over:
            try:
                async with pool.turn(client):
                    came.append(client)
                    await asyncio.sleep(0)
            except (Busy, TooManyAtOnce):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(attack(client)) for client in attackers for _ in range(16)]
    for _ in range(20):
        await asyncio.sleep(0)
    # Those whose turn it is already, and one of each other.
    most = pool.at_once + len({client.turn for client in attackers})
    for victim in (stranger(255), known_client("browser 1")):
        before = len(came)
        async with pool.turn(victim):
            waited = len(came) - before
        assert waited <= (most if victim.weight == 1 else pool.at_once)
    is_over = True
    await asyncio.gather(*tasks)
    assert (pool.taken, pool._waiting) == (0, [])


# --- turns


class Line:
    """A pool whose first turn is taken until it is opened, and who had turns since."""

    def __init__(self) -> None:
        self.pool = Pool(at_once=1, capacity=1_000_000, each=1_000_000)
        self.came = list[str]()
        self._may_go = asyncio.Event()
        self._first = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        async with self.pool.turn(BACKGROUND):
            await self._may_go.wait()

    async def ask(self, client: str, name: str = "", cost: int = 1) -> asyncio.Task[None]:
        task = asyncio.create_task(self._take(client, name or client, cost))
        # It waits then.
        await asyncio.sleep(0)
        return task

    async def _take(self, client: str, name: str, cost: int) -> None:
        async with self.pool.turn(known_client(client), cost):
            self.came.append(name)
            await asyncio.sleep(0)

    async def open(self, *tasks: asyncio.Task[None]) -> list[str]:
        self._may_go.set()
        await asyncio.gather(self._first, *tasks, return_exceptions=True)
        return self.came


async def test_each_client_that_waits_has_a_turn_before_one_has_two() -> None:
    line = Line()
    asked = [await line.ask(name[0], name) for name in ("a1", "a2", "a3", "b1", "b2", "c1")]
    assert await line.open(*asked) == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_what_is_short_waits_for_no_long_turns_of_others() -> None:
    line = Line()
    asked = [await line.ask(f"long {n}", cost=100) for n in range(32)]
    asked += [await line.ask("short")]
    assert (await line.open(*asked))[0] == "short"


async def test_what_is_long_comes_however_many_short_turns_there_are() -> None:
    """Two streams of clients, each of whom comes as the one before has had its turn."""
    pool, came = Pool(at_once=1, capacity=1_000, each=100), list[str]()

    async def take(client: str, cost: int) -> None:
        async with pool.turn(known_client(client), cost):
            came.append(client)
            await asyncio.sleep(0)

    async def stream(name: str) -> None:
        for n in range(200):
            await take(f"{name} {n}", 1)

    await asyncio.gather(stream("short"), stream("other"), take("long", 10))
    assert 5 < came.index("long") < 60


async def test_as_many_turns_are_taken_at_a_time_as_may_be() -> None:
    for at_once in (1, 3):
        pool, inside, most = Pool(at_once, capacity=100, each=100), 0, 0

        async def work(client: str, pool: Pool) -> None:
            nonlocal inside, most
            async with pool.turn(known_client(client)):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(work(f"{n % 5}", pool) for n in range(30)))
        assert (inside, most) == (0, at_once)


async def test_who_has_gone_away_has_no_turn() -> None:
    line = Line()
    asked = [await line.ask(name) for name in "abc"]
    asked[0].cancel()
    assert await line.open(*asked) == ["b", "c"]


async def test_a_turn_that_is_given_to_who_goes_away_is_the_next_ones() -> None:
    pool = Pool(at_once=1, capacity=100, each=100)
    came = list[str]()

    async def take(name: str) -> None:
        async with pool.turn(known_client(name)):
            came.append(name)

    async with pool.turn(BACKGROUND):
        asked = [asyncio.create_task(take(name)) for name in "ab"]
        await asyncio.sleep(0)
    # The turn is given, and not taken yet.
    asked[0].cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert came == ["b"]
    await take("c")
    assert came == ["b", "c"]
