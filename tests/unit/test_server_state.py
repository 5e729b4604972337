"""What is noted of a server by its replies, and what ends it."""

import pytest

from footfall.driver import server_state
from footfall.driver.replies import error_reply
from footfall.driver.server_state import TROUBLES, ServerState
from footfall.driver.stats import CommandStats
from footfall.telemetry.metrics import FINDINGS, Metrics


@pytest.fixture
def stats() -> CommandStats:
    return CommandStats(Metrics(), slow_seconds=5)


@pytest.fixture
def state(stats: CommandStats) -> ServerState:
    return stats.server("Redis")


def refuse(state: ServerState, text: str) -> list[str]:
    state.refuses(error_reply(text))
    return [*state.look()]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("OOM command not allowed when used memory > 'maxmemory'.", "full"),
        ("READONLY You can't write against a read only replica.", "replica"),
        ("MISCONF Errors writing to the AOF file: No space left on device", "file_fails"),
        ("NOREPLICAS Not enough good replicas to write.", "alone"),
        ("NOAUTH Authentication required.", "password"),
        ("WRONGPASS invalid username-password pair or user is disabled.", "password"),
        ("MOVED 3999 127.0.0.1:6381", "wrong_kind"),
        ("CROSSSLOT Keys in request don't hash to the same slot", "wrong_kind"),
        ("CLUSTERDOWN Hash slot not served", "cluster_down"),
        ("BUSY Redis is busy running a script.", "busy"),
        ("LOADING Redis is loading the dataset in memory", "loading"),
        ("NOPERM User footfall has no permissions to run the 'evalsha' command", "refused"),
    ],
)
def test_an_error_reply_makes_its_state_known_at_once_and_a_change_ends_it(
    stats: CommandStats, state: ServerState, text: str, code: str
) -> None:
    assert refuse(state, text) == [code]
    assert stats.metrics.findings.totals()[code] == 1
    state.did("counters/page")
    assert [*state.look()] == [code], "a read is not a proof"
    state.opened(None) if code == "password" else state.did("SET")
    assert not state.look()


def test_of_two_refused_rights_the_one_that_changes_need_is_told(state: ServerState) -> None:
    for command in ("hget", "evalsha", "script|exists"):
        refuse(state, f"NOPERM User footfall has no permissions to run the '{command}' command")
    (trouble,) = state.look().values()
    assert trouble.hurts == "changes"
    assert "'evalsha'" in trouble.text


def test_nobody_is_told_what_a_command_was_called_with(state: ServerState) -> None:
    refuse(state, "ERR unknown command 'HGET', with args beginning with: 'ff:{accounts}' 'a@b.c' ")
    (trouble,) = state.look().values()
    assert "unknown command 'HGET'" in trouble.text
    assert "a@b.c" not in trouble.text


def test_what_is_wrong_with_one_request_is_wrong_with_no_server(state: ServerState) -> None:
    assert refuse(state, "WRONGTYPE Operation against a key holding the wrong kind of value") == []
    assert refuse(state, "NOSCRIPT No matching script.") == []


def test_a_redirection_on_a_cluster_is_no_trouble(stats: CommandStats) -> None:
    node = stats.server("Redis at h:1")
    assert refuse(node, "MOVED 3999 127.0.0.1:6381") == []


def test_a_right_that_one_request_lacks_is_forgotten_after_minutes(
    state: ServerState, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(state, "NOPERM User footfall has no permissions to run the 'xadd' command")
    state.did("SET")
    assert [each.hurts for each in state.look().values()] == ["some"]
    monkeypatch.setattr(server_state, "REFUSED_SECONDS", -1)
    assert not state.look()


def test_only_one_reason_for_having_no_connection_is_given(state: ServerState) -> None:
    for reason, code in (
        (ConnectionRefusedError("Connection refused"), "away"),
        (ConnectionError("Error 24 connecting to h:1. Too many open files."), "descriptors"),
        (ConnectionError("invalid username-password pair or user is disabled."), "password"),
    ):
        state.unopened(reason)
        assert [*state.look()] == [code]
    state.opened(error_reply("NOAUTH Authentication required."))
    assert [*state.look()] == ["password"]
    state.opened([b"1"])
    assert not state.look()


def test_changes_that_are_not_confirmed_end_with_one_that_is(
    stats: CommandStats, state: ServerState
) -> None:
    state.unconfirmed("too few")
    state.did("counters/add")
    assert [*state.look()] == ["unconfirmed"], "carried out is not confirmed"
    state.confirmed()
    assert not state.look()
    assert stats.metrics.redis_failures.total == 1


def test_every_state_has_a_metric() -> None:
    assert set(FINDINGS) >= TROUBLES


def test_changes_are_kept_back_while_they_are_rejected_and_one_a_second_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(server_state, "monotonic", lambda: now[0])
    state = ServerState("Redis", CommandStats(Metrics(), 0.0))

    def kept() -> list[bool]:
        return [state.keeps_back() for _ in range(3)]

    assert kept() == [False] * 3
    for _ in range(5):
        assert state.refuses(error_reply("NOREPLICAS Not enough good replicas to write."))
        assert kept() == [False, True, True]
        now[0] += 1
    # Memory that is full takes changes that free some.
    full = ServerState("Redis", CommandStats(Metrics(), 0.0))
    assert full.refuses(error_reply("OOM command not allowed when used memory > 'maxmemory'."))
    assert [full.keeps_back() for _ in range(3)] == [False] * 3


def test_changes_that_nobody_rejects_any_longer_are_all_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in `footfall worker`, where no probe tells of the end, and no view is counted."""
    now = [1000.0]
    monkeypatch.setattr(server_state, "monotonic", lambda: now[0])
    state = ServerState("Redis", CommandStats(Metrics(), 0.0))
    assert state.refuses(error_reply("READONLY You can't write against a read only replica."))
    for _ in range(4):
        assert not state.keeps_back()
        state.did("outbox/take")
        now[0] += 1
    assert [state.keeps_back() for _ in range(3)] == [False] * 3


def test_a_full_disk_is_tried_by_nobody() -> None:
    state = ServerState("Redis", CommandStats(Metrics(), 0.0))
    state.note_room(has_none=True)
    assert [state.keeps_back() for _ in range(3)] == [True] * 3
    state.note_room(has_none=False)
    assert not state.keeps_back()
