"""What the service finds wrong with a Redis, from Redis's own facts."""

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from footfall.driver.data_set_id import DataSetIds
from footfall.driver.facts import facts_of, find
from footfall.driver.replies import error_reply
from footfall.driver.safety import Safety
from footfall.driver.stats import CommandStats
from footfall.model import FSYNC, MEMORY, Durability
from footfall.telemetry.metrics import FINDINGS, Metrics

EVERYSEC = Durability("everysec")
NOW = 1_700_000_000
SOUND = {
    "maxmemory_policy": "noeviction",
    "role": "master",
    "connected_slaves": "1",
    "aof_enabled": "1",
    "appendfsync": "everysec",
    "redis_version": "7.2.4",
    "used_memory": "80",
    "maxmemory": "100",
    "time": str(NOW + 10),
}


def test_a_sound_server_passes_at_every_level() -> None:
    for level in (MEMORY, EVERYSEC, FSYNC, Durability("replica", 1)):
        assert list(find(SOUND, level, NOW, 1.5)) == []
    assert list(find({"time": str(NOW)}, MEMORY, NOW, 1.5)) == []


@pytest.mark.parametrize(
    ("level", "facts", "code", "mend"),
    [
        (MEMORY, {"maxmemory_policy": "allkeys-lru"}, "evicts", "maxmemory-policy noeviction"),
        (MEMORY, {"role": "slave", "master_host": "h", "master_port": "7"}, "replica", "h:7"),
        (Durability("replica", 2), {}, "alone", "Redis has 1"),
        (EVERYSEC, {"aof_enabled": "0"}, "no_file", "CONFIG SET appendonly yes"),
        (Durability("replica", 1), {"aof_enabled": "0"}, "no_file", "DURABILITY=replica:1"),
        (EVERYSEC, {"aof_last_write_status": "err"}, "file_fails", "space on its disk"),
        (EVERYSEC, {"aof_last_bgrewrite_status": "err"}, "rewrite_fails", "BGREWRITEAOF"),
        (EVERYSEC, {"appendfsync": "no"}, "no_flush", "CONFIG SET appendfsync everysec"),
        (FSYNC, {"appendfsync": "no"}, "no_flush", "DURABILITY=fsync promises more"),
        (
            EVERYSEC,
            {"no-appendfsync-on-rewrite": "yes"},
            "rewrite_unflushed",
            "CONFIG SET no-appendfsync-on-rewrite no",
        ),
        (FSYNC, {"redis_version": "7.0.15"}, "no_wait", "CONFIG SET appendfsync always"),
        (FSYNC, {"flush_at": str(NOW - 9), "flush_ms": "1501"}, "disk_slow", "1.501 s for its"),
        (MEMORY, {"used_memory": "81"}, "memory_low", "81%"),
        (MEMORY, {"time": str(NOW - 11)}, "clock", "11 s behind"),
        (MEMORY, {"time": str(NOW + 11)}, "clock", "11 s ahead of ours: set"),
        (MEMORY, {"time": str(NOW + 62)}, "clock", "62 s ahead of ours, so that its time is used"),
    ],
)
def test_a_problem_is_named_with_the_command_that_fixes_it(
    level: Durability, facts: dict[str, str], code: str, mend: str
) -> None:
    (finding,) = find({**SOUND, **facts}, level, NOW, 1.5)
    assert finding.code == code
    assert mend in finding.text
    assert finding.code in FINDINGS
    assert finding.is_fatal == (
        code not in ("memory_low", "clock", "disk_slow", "rewrite_fails", "rewrite_unflushed")
    )


def test_a_file_is_not_required_at_the_lowest_level() -> None:
    assert list(find({**SOUND, "aof_enabled": "0"}, MEMORY, NOW, 1.5)) == []


def test_a_server_that_loads_its_file_is_not_said_to_have_none() -> None:
    loading = {**SOUND, "aof_enabled": "0", "loading": "1"}
    assert list(find(loading, EVERYSEC, NOW, 1.5)) == []


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        # The limit was lowered below what is used already.
        ({"used_memory": "4000"}, "4000% of its memory .*: CONFIG SET maxmemory 8000$"),
        ({"total_system_memory": "162"}, "CONFIG SET maxmemory 162$"),
        ({"total_system_memory": "161"}, "its machine has 161 bytes and wants more, then CONFIG"),
    ],
)
def test_the_advice_on_memory_counts_what_is_used(facts: dict[str, str], advice: str) -> None:
    (finding,) = find({**SOUND, "used_memory": "81", **facts}, MEMORY, NOW, 1.5)
    assert re.search(advice, finding.text)


def test_an_old_server_that_always_flushes_needs_no_wait() -> None:
    facts = {**SOUND, "redis_version": "6.2.0", "appendfsync": "always"}
    assert list(find(facts, FSYNC, NOW, 1.5)) == []


@pytest.mark.parametrize("met", [{"flush_ms": "1500"}, {"flush_at": str(NOW - 300)}])
def test_a_flush_that_was_fast_enough_or_long_ago_is_no_problem(met: dict[str, str]) -> None:
    flush = {"flush_at": str(NOW), "flush_ms": "9000", **met}
    assert list(find({**SOUND, **flush}, FSYNC, NOW, 1.5)) == []


@pytest.mark.parametrize(
    "latency", [None, [], error_reply("ERR unknown command"), [[b"command", 1, 2, 3]]]
)
def test_a_server_that_tells_of_no_slow_file_is_taken_as_it_is(latency: object) -> None:
    facts = facts_of(b"role:master\r\n", [b"1700000000", b"0"], [], latency)
    assert facts == {"role": "master", "time": "1700000000"}


def test_a_server_that_does_not_say_is_not_trusted() -> None:
    (finding,) = find(None, MEMORY, NOW, 1.5)
    assert finding.code == "unseen"
    assert "+info" in finding.text


NODES = ["Redis at h:1", "Redis at h:2", "Redis at h:3"]


@pytest.mark.parametrize(
    ("refusals", "is_fatal", "is_outage", "where"),
    [
        (["OOM"], False, False, "1 of 3 masters of the Cluster: "),
        (["OOM", "BUSY", "MISCONF"], True, False, "1 of 3 masters of the Cluster: "),
        (["OOM", "OOM", "OOM"], True, False, "3 of 3 masters of the Cluster: "),
        (["BUSY", "LOADING", "CLUSTERDOWN"], True, True, "1 of 3 masters of the Cluster: "),
    ],
)
def test_what_one_node_of_a_cluster_refuses_stops_nobody_whom_others_answer(
    refusals: list[str], is_fatal: bool, is_outage: bool, where: str
) -> None:
    safety, stats = safety_of(NODES)
    for name, refusal in zip(NODES, refusals, strict=False):
        stats.server(name).refuses(error_reply(refusal))
    problems = safety.problems.values()
    assert {problem.is_fatal for problem in problems} == {is_fatal}
    assert any(problem.is_outage for problem in problems) == is_outage
    assert all(problem.text.startswith(where) for problem in problems)


def test_the_only_server_hurts_everybody() -> None:
    safety, stats = safety_of(["Redis"])
    stats.server("Redis").refuses(error_reply("OOM"))
    (problem,) = safety.problems.values()
    assert problem.is_fatal
    assert not problem.is_outage
    assert problem.text.startswith("Redis is out of memory")
    stats.server("Redis").unopened(ConnectionError("refused"))
    assert [each.code for each in safety.problems.values() if each.is_outage] == ["away"]


def safety_of(names: list[str]) -> tuple[Safety, CommandStats]:
    stats = CommandStats(Metrics(), slow_seconds=5)
    redis = SimpleNamespace(stats=stats, data_set_ids=DataSetIds(stats), names=lambda: names)
    return Safety(cast(Any, redis), MEMORY, cast(Any, None)), stats
