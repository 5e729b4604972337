"""What a batch sends of what requests ask, and which numbers each of them gets."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from footfall.counting import batch as counter_batch
from footfall.counting.batch import CounterBatch, Dating
from footfall.counting.clients import CountingClient, Person
from footfall.counting.packed import PackedChange, PackedNames
from footfall.driver import batch as batch_module
from footfall.driver.batch import MAX_BATCHES_IN_FLIGHT
from footfall.driver.client import RedisClient
from footfall.driver.connection import Done
from footfall.driver.keys import Keys
from footfall.driver.reads import Memo
from footfall.driver.replies import ErrorReply
from footfall.driver.script_calls import Rate
from footfall.driver.scripts import Script, Scripts, sources
from footfall.driver.server_state import ServerState
from footfall.driver.stats import CommandStats
from footfall.errors import StoreUnavailable
from footfall.model import NO_ORIGIN, Origin
from footfall.process.process import now_ms
from footfall.statistics.calendar import Calendar
from footfall.statistics.moment import Moment
from footfall.statistics.moments import Moments
from footfall.statistics.visitors import salted
from footfall.statistics.visits import Connections, Visits
from footfall.telemetry.metrics import Metrics

Answer = list[int] | Exception
NOSCRIPT = ErrorReply("NOSCRIPT No matching script")
RATE = Rate(1, 10)


class Redis:
    """As much of a RedisClient as a batch needs; answers when it is told to."""

    is_cluster = False

    def __init__(self) -> None:
        self.stats = self.data_set_ids = self
        self.sent: list[Sequence[bytes]] = []
        self.done: Done
        self.new = 0
        self.state = ServerState("Redis", CommandStats(Metrics(), 0.0))

    timeout = 5.0

    def batched(self, requests: int) -> None: ...

    def server(self, name: str) -> ServerState:
        return self.state

    def check(self) -> None: ...

    def started(self, client: CountingClient, change: PackedChange, counts: Sequence[Any]) -> None:
        self.new += list(counts).count(1)

    def ask(self, commands: Sequence[bytes], done: Done, deadline: float) -> None:
        self.sent.append(commands)
        self.done = done

    async def reply(self, *replies: Any) -> Sequence[bytes]:
        """Let the batch leave, and answer it; returns its commands."""
        await asyncio.sleep(0)
        self.done(list(replies))
        return self.sent[-1]


@pytest.fixture
def redis() -> Redis:
    return Redis()


@pytest.fixture
def batch(redis: Redis) -> CounterBatch:
    client = cast(RedisClient, redis)
    names = ("counters/add", "rate_limit/take_tokens")
    scripts = {name: Script(name, sources()[name], client) for name in names}
    return CounterBatch(client, cast(Scripts, scripts), redis.started, None, redis.ask)


PACKED = PackedNames(Keys("t", 256))


def rise(path: str, *, by: int = 1) -> PackedChange:
    return PACKED.change([(f"time {path}", by)])


def test_names_are_cached_by_the_memory_that_they_take() -> None:
    words = Memo(str.upper)
    for name in ("x" * 256, "\u4e2d" * 100, "\N{GRINNING FACE}" * 100, "x" * 300):
        assert words[name] == name.upper()
    assert list(words) == ["x" * 256, "\u4e2d" * 100]


def test_the_memory_of_a_change_has_its_source() -> None:
    host = f"{'x' * 50}." * 4 + "example"
    plain, sent = (PACKED.change([("time /a", 1)], origin) for origin in (NO_ORIGIN, Origin(host)))
    assert sent.kept_bytes - plain.kept_bytes > len(host)


async def test_a_moment_that_cannot_be_told_fails_its_batch_and_no_later_one(redis: Redis) -> None:
    def moment() -> Moment:
        raise ValueError("no such year")

    client = cast(RedisClient, redis)
    names = ("counters/count", "rate_limit/take_tokens")
    scripts = {name: Script(name, sources()[name], client) for name in names}
    dating = Dating(moment, cast(Visits, SimpleNamespace(forget=lambda: None)))
    batch = CounterBatch(client, cast(Scripts, scripts), redis.started, dating, redis.ask)
    answers: list[Answer] = []
    for _ in range(2 * MAX_BATCHES_IN_FLIGHT):
        batch.add(rise("/a"), answers.append)
        await asyncio.sleep(0)
    assert len(answers) == 2 * MAX_BATCHES_IN_FLIGHT
    assert all(isinstance(answer, ValueError) for answer in answers)
    assert batch.is_idle


@pytest.fixture
def dated(redis: Redis) -> CounterBatch:
    """A batch whose views are of one hour; nobody is known."""
    client = cast(RedisClient, redis)
    names = ("counters/count", "views/visit", "rate_limit/take_tokens")
    scripts = {name: Script(name, sources()[name], client) for name in names}
    stats = cast(Connections, SimpleNamespace(connections=1))
    keys, each = Keys("t", 256), cast(Scripts, scripts)
    visits = Visits(each, keys, lambda work: work.close(), stats, is_cluster=False)
    moment = Moments(Calendar(ZoneInfo("UTC")), now_ms, 25)
    dating = Dating(moment, visits)
    return CounterBatch(client, each, redis.started, dating, redis.ask)


DATED = PackedNames(Keys("t", 256), is_dated=True)


async def test_only_the_first_view_of_an_hour_names_the_keys_of_its_page(
    dated: CounterBatch, redis: Redis
) -> None:
    DATED.clear()
    answers: list[Answer] = []

    async def viewed(reply: object) -> bool:
        """Were the page's keys sent?"""
        change = DATED.change([("time /a", 1)])
        dated.add(change, answers.append)
        (command,) = await redis.reply([reply])
        return b":hours:" in command

    # Nothing is known after an error.
    assert await viewed(ErrorReply("ERR damaged"))
    assert await viewed(1)
    assert not await viewed(2)
    # Somebody has removed the counter: the same view is sent once more.
    await viewed(None)
    assert [b":hours:" in command for (command,) in redis.sent[-2:]] == [False, True]
    assert answers[1:] == [[1], [2]]
    redis.done([[1]])
    assert answers[1:] == [[1], [2], [1]]
    assert not await viewed(2)
    # After some views of a page it is looked how many it has had on this day.
    assert 0 < sum([await viewed(number) for number in range(3, 30)]) <= 3


async def test_a_view_that_is_alone_and_known_is_sent_at_once_and_again_if_it_was_not_counted(
    known: CounterBatch, redis: Redis, reader: Person
) -> None:
    answers: list[Answer] = []
    change = DATED.change([("time /a", 1)])

    def view() -> Sequence[bytes]:
        known.add(change, answers.append, reader)
        return redis.sent[-1]

    # The first one opens the hour, and the second one finds that.
    for count in (1, 2):
        known.add(change, answers.append, reader)
        await redis.reply([count])
    for lost in (None, NOSCRIPT):
        # Without the end of the turn; and it has nothing but the counter.
        (command,) = view()
        assert command.count(b"$") == 18
        redis.done([[lost] if lost is None else lost])
        await asyncio.sleep(0)
        # Now the keys of the page are sent with it.
        (command,) = redis.sent[-1]
        assert b":hours:" in command
        redis.done([[3]])
        assert answers.pop() == [3]
        view()
        await redis.reply([4])
    for failed in (StoreUnavailable(), [ErrorReply("OOM")], [[ErrorReply("ERR damaged")]], [b"?"]):
        view()
        number = len(redis.sent)
        redis.done(cast(Any, failed))
        await asyncio.sleep(0)
        # It may have been counted, so it is not resent.
        assert len(redis.sent) == number
        assert isinstance(answers.pop(), Exception)
        # What was known of the page is forgotten.
        known.add(change, answers.append, reader)
        (command,) = await redis.reply([5])
        assert b":hours:" in command


@pytest.fixture
def reader() -> Person:
    return Person("", "192.0.2.1", b"")


@pytest.fixture
def known(dated: CounterBatch) -> CounterBatch:
    """The same, which tells visitors apart."""
    DATED.clear()
    moments = cast(Any, dated)._dating.moment
    moments.salts = {moments().day: salted(b"s" * 32, "t")}
    return dated


async def test_a_request_that_comes_after_another_one_is_sent_at_once(
    batch: CounterBatch, redis: Redis
) -> None:
    answers: list[Answer] = []
    batch.read(PACKED.read(["time /a"]), answers.append)
    assert redis.sent == []
    await redis.reply(b"1")
    batch.add(rise("/a"), answers.append)
    # Without the end of the turn.
    assert len(redis.sent) == 2
    # While it is in flight, others gather; after several of them, the next one waits for others.
    for path in ("/b", "/c"):
        batch.read(PACKED.read([f"time {path}"]), answers.append)
    assert len(redis.sent) == 2
    redis.done([[2]])
    await redis.reply(b"3", b"4")
    batch.read(PACKED.read(["time /d"]), answers.append)
    assert len(redis.sent) == 3
    await redis.reply(b"5")
    assert answers == [[1], [2], [3], [4], [5]]


async def test_after_a_failure_no_request_fails_before_the_end_of_the_turn(
    batch: CounterBatch, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or one answer would be given within the other, for as many as a client sends at once."""
    answers: list[Answer] = []
    batch.read(PACKED.read(["time /a"]), answers.append)
    await redis.reply(b"1")

    def away() -> None:
        raise StoreUnavailable()

    monkeypatch.setattr(redis, "check", away)

    def asks_again(answer: Answer) -> None:
        answers.append(answer)
        if len(answers) < 3000:
            batch.read(PACKED.read(["time /b"]), asks_again)

    batch.read(PACKED.read(["time /b"]), asks_again)
    assert len(answers) <= 2
    while len(answers) < 3000:
        await asyncio.sleep(0)
    assert all(isinstance(answer, StoreUnavailable) for answer in answers[1:])


async def test_what_several_requests_ask_alike_is_read_once(
    batch: CounterBatch, redis: Redis
) -> None:
    front, other = PACKED.read(["time /a", "time /b"]), PACKED.read(["time /c"])
    answers: list[Answer] = []
    for each in (front, other, front, other):
        batch.read(each, answers.append)
    assert batch.waiting == 4
    commands = await redis.reply(b"1", b"2", None)
    assert commands == [*front.commands, *other.commands]
    assert answers == [[1, 2], [1, 2], [0], [0]]


async def test_each_of_several_equal_rises_gets_the_count_of_its_own(
    batch: CounterBatch, redis: Redis
) -> None:
    a, b = rise("/a"), rise("/b")
    answers: dict[str, Answer] = {}
    for n, change in enumerate([a, b, a, a]):
        batch.add(change, lambda counts, n=n: answers.update({str(n): counts}))  # type: ignore[misc]
    (command,) = await redis.reply([12, 7])
    assert command.count(b"time /a") == command.count(b"time /b") == 1
    assert answers == {"0": [10], "2": [11], "3": [12], "1": [7]}
    assert redis.new == 0


async def test_a_counter_that_several_requests_started_is_one_new_counter(
    batch: CounterBatch, redis: Redis
) -> None:
    answers: list[Answer] = []
    change = rise("/a")
    for _ in range(3):
        batch.add(change, answers.append)
    await redis.reply([3])
    assert answers == [[1], [2], [3]]
    assert redis.new == 1


async def test_falls_are_made_one_by_one_since_none_goes_below_zero(
    batch: CounterBatch, redis: Redis
) -> None:
    answers: list[Answer] = []
    fall = rise("/a", by=-1)
    for _ in range(3):
        batch.add(fall, answers.append)
    (command,) = await redis.reply([1, 0, 0])
    assert command.count(b"time /a") == 3
    assert answers == [[1], [0], [0]]


async def test_several_changes_of_one_request_are_answered_together(
    batch: CounterBatch, redis: Redis
) -> None:
    both = PACKED.change([("time /a", 1), ("reaction0 /a", -1)])
    answers: list[Answer] = []
    batch.add(both, answers.append)
    batch.add(rise("/b"), answers.append)
    batch.add(both, answers.append)
    await redis.reply([1, 0, 2, 0, 9])
    assert answers == [[1, 0], [2, 0], [9]]
    assert redis.new == 1


async def test_a_damaged_counter_fails_its_own_requests_alone(
    batch: CounterBatch, redis: Redis
) -> None:
    wrong = ErrorReply("ERR hash value is not an integer")
    answers: list[Answer] = []
    for path in ("/a", "/a", "/b"):
        batch.add(PACKED.change([(f"time {path}", 1)]), answers.append)
    batch.read(PACKED.read(["time /a"]), answers.append)
    batch.read(PACKED.read(["time /b"]), answers.append)
    await redis.reply([wrong, wrong, 4], b"no number", b"4")
    damaged, *others = answers
    assert isinstance(damaged, ValueError)
    assert others == [[4], wrong, wrong, [4]]


@pytest.mark.parametrize("damaged", [b"", b"no number", b"9" * 5000])
async def test_a_damaged_count_keeps_no_answer_from_the_other_reads(
    batch: CounterBatch, redis: Redis, damaged: bytes
) -> None:
    answers: list[Answer] = []
    for path in ("/a", "/b"):
        batch.read(PACKED.read([f"time {path}"]), answers.append)
    await redis.reply(damaged, b"4")
    wrong, sound = answers
    assert isinstance(wrong, ValueError)
    assert sound == [4]


async def test_a_callback_that_fails_keeps_no_answer_from_the_others(
    batch: CounterBatch, redis: Redis
) -> None:
    def fail(numbers: object) -> None:
        raise RuntimeError

    answers: list[Answer] = []
    change, read = rise("/a"), PACKED.read(["time /a"])
    for done in (answers.append, fail, answers.append):
        batch.add(change, done)
        batch.read(read, done)
    batch.take_tokens("t:{x}:tokens", 1, RATE, fail)
    batch.take_tokens("t:{x}:tokens", 1, RATE, answers.append)
    await redis.reply([3], [0, 250], b"3")
    assert answers == [[3], [3], [1], [3], [250]]


async def test_a_script_that_redis_does_not_know_is_sent_in_full_and_nothing_else_is(
    batch: CounterBatch, redis: Redis
) -> None:
    answers: list[Answer] = []
    batch.add(rise("/a"), answers.append)
    batch.take_tokens("t:{x}:tokens", 1, RATE, answers.append)
    batch.read(PACKED.read(["time /b"]), answers.append)
    await redis.reply(NOSCRIPT, [0], b"5")
    assert answers == [[5], [0]]
    (again,) = redis.sent[-1]
    assert b"EVAL\r\n" in again
    assert again.count(b"time /a") == 1
    redis.done([[1]])
    assert answers == [[5], [0], [1]]


@pytest.mark.parametrize("reply", [[], [1, 2], b"OK", ErrorReply("ERR what?")])
async def test_a_reply_that_cannot_be_understood_fails_those_who_wait_for_it(
    batch: CounterBatch, redis: Redis, reply: object
) -> None:
    answers: list[Answer] = []
    batch.add(rise("/a"), answers.append)
    batch.read(PACKED.read(["time /b"]), answers.append)
    await redis.reply(reply, b"5")
    read, changed = answers
    assert read == [5]
    assert isinstance(changed, Exception)


async def test_all_of_a_batch_fail_if_it_is_lost(batch: CounterBatch, redis: Redis) -> None:
    answers: list[Answer] = []
    change = rise("/a")
    for _ in range(2):
        batch.add(change, answers.append)
    batch.read(PACKED.read(["time /a"]), answers.append)
    batch.take_tokens("t:{x}:tokens", 1, RATE, answers.append)
    await asyncio.sleep(0)
    redis.done(StoreUnavailable())
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 4
    assert batch.is_idle


async def test_while_enough_batches_are_in_flight_the_next_grows_and_leaves_with_a_reply(
    batch: CounterBatch, redis: Redis
) -> None:
    answers: list[Answer] = []
    for _ in range(MAX_BATCHES_IN_FLIGHT):
        batch.read(PACKED.read(["time /a"]), answers.append)
        await asyncio.sleep(0)
    for n in range(3):
        batch.read(PACKED.read([f"time /{n}"]), answers.append)
        await asyncio.sleep(0)
    assert (len(redis.sent), batch.waiting) == (MAX_BATCHES_IN_FLIGHT, 3)
    redis.done([b"1"])
    assert (len(redis.sent), batch.waiting) == (MAX_BATCHES_IN_FLIGHT + 1, 0)
    assert len(redis.sent[-1]) == 3


async def test_when_too_many_wait_the_next_is_refused_at_once(
    batch: CounterBatch, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "MAX_WAITING_REQUESTS", 5)
    answers: list[Answer] = []
    for _ in range(MAX_BATCHES_IN_FLIGHT):
        batch.add(rise("/a"), answers.append)
        await asyncio.sleep(0)
    for _ in range(7):
        batch.add(rise("/b"), answers.append)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
    assert batch.waiting == 5


async def test_many_changes_leave_at_once_whatever_is_in_flight(
    batch: CounterBatch, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_batch, "MAX_BATCH_CHANGES", 10)
    many = PACKED.change([(f"time /{n}", 1) for n in range(6)])
    for _ in range(2 * MAX_BATCHES_IN_FLIGHT):
        batch.add(many, lambda counts: None)
    assert len(redis.sent) == MAX_BATCHES_IN_FLIGHT
    assert batch.waiting == 0
