"""What `footfall bench` and `verify` count is taken away again, whatever happens meanwhile."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footfall.counting.limits import MIN_BURST_CHANGES
from tests.support.fake_waline import Start
from tests.support.servers import free_port, wait_until
from tests.support.serving import Serving, serving

# A low rate, since on a busy machine half of what a row reached may be more than the next one can.
BENCH = ("bench", "--seconds", "0.1", "--connections", "8", "--rate", "20")
VERIFY = ("verify", "--seconds", "0.2", "--connections", "8", "--paths", "10")
EITHER = pytest.mark.parametrize("words", [BENCH, VERIFY], ids=lambda words: words[0])


@pytest.fixture
def served(own: Path) -> Iterator[Serving]:
    with serving(own / "s", PORT=str(free_port())) as served:
        yield served


def counters(served: Serving) -> list[str]:
    return served.output_of("counters", "list")[1].splitlines()


def counting(served: Serving, *options: str) -> subprocess.Popen[str]:
    """A `footfall verify` that goes on until somebody ends it, once it has counted."""
    process = served.run("verify", served.url, "--seconds", "600", "--connections", "4", *options)

    def has_counted() -> bool:
        # Before that it looks by a counter of its own whether the server counts there.
        found = [counter for counter in counters(served) if "/footfall-bench/" in counter]
        return any("probe" not in each for each in found)

    wait_until(has_counted, "something to be counted")
    return process


@EITHER
def test_only_its_own_counters_are_taken_away(served: Serving, words: tuple[str, ...]) -> None:
    httpx.post(f"{served.url}/article", json={"path": "/footfall-bench/"}).raise_for_status()
    code, output = served.ask(*words, served.url)
    assert code == 0, output
    assert re.search(r"^Removed: \d+ counters, /footfall-bench/[0-9a-f]{16}/\*$", output, re.M)
    assert counters(served) == [
        f"{1:>12,}  time        /footfall-bench/",
        "1 of 1 counter, about 33 bytes",
    ]


@EITHER
def test_without_the_servers_redis_nothing_is_counted(
    start: Start, directory: Path, words: tuple[str, ...]
) -> None:
    fake = start()
    code, output = Serving(directory).ask(*words, fake.url)
    assert (code, fake.views) == (1, 0)
    assert f"there is no data set in DATA_DIR {directory / 'data'}" in output
    for name in ("REDIS_URL", "DATA_DIR", "KEY_PREFIX", "--data", "--leave-behind"):
        assert name in output.splitlines()[-1]
    code, output = Serving(directory, REDIS_URL="redis://127.0.0.1:1").ask(*words, fake.url)
    assert (code, fake.views) == (1, 0)
    assert "Redis does not answer" in output
    assert "--leave-behind" in output


@pytest.mark.rare
@EITHER
def test_another_data_set_than_the_servers_is_found_out(
    served: Serving, own: Path, words: tuple[str, ...]
) -> None:
    with serving(own / "o") as other:
        code, output = served.ask(*words, other.url)
        assert code == 1
        where = f"KEY_PREFIX ff in DATA_DIR {served.directory / 'data'}"
        assert f"Error: {other.url} counts elsewhere than under {where}\n" in output
        assert "--leave-behind" in output
        assert counters(served) == counters(other) == ["there are no counters"]


@pytest.mark.rare
@EITHER
def test_counters_that_may_stay_are_removed_by_the_command_that_is_named(
    served: Serving, words: tuple[str, ...]
) -> None:
    code, output = served.ask(*words, served.url, "--leave-behind")
    assert code == 0, output
    assert counters(served) != ["there are no counters"]
    match = re.search(r"^Left behind: .*; remove them with: (footfall .*)$", output, re.M)
    assert match
    assert served.ask(*shlex.split(match[1])[1:])[0] == 0
    assert counters(served) == ["there are no counters"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_takes_the_counters_away(
    served: Serving, number: signal.Signals
) -> None:
    process = counting(served)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Removed: " in output
    assert "Increments: exact (accepted " in output
    assert counters(served) == ["there are no counters"]


def test_a_signal_before_anything_is_counted_leaves_nothing_in_redis(
    served: Serving, start: Start
) -> None:
    # The first read finds out which server it is, and the second one if it has the same Redis.
    fake = start(answers_reads=1)
    process = served.run(*VERIFY, fake.url)
    wait_until(lambda: fake.reads == 2, "the server to be asked for what is in Redis")
    assert "/probe" in counters(served)[0]
    process.send_signal(signal.SIGTERM)
    fake.is_over.set()
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, fake.views) == (1, 0), output
    assert counters(served) == ["there are no counters"]


@pytest.mark.rare
def test_a_server_that_counts_in_another_redis_now_is_found_out(served: Serving, own: Path) -> None:
    process = counting(served)
    served.stop()
    with serving(own / "o", PORT=served.environ["PORT"]) as other:
        wait_until(lambda: "/footfall-bench/" in counters(other)[0], "the other one to count")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1, output
        assert "Left behind: counters of up to 100 paths, /footfall-bench/" in output
        assert f"{other.url} no longer counts in the Redis of these settings" in output
    assert counters(served) == ["there are no counters"]


def spend_tokens(served: Serving) -> None:
    """All that this address has: what is taken back of nothing stores nothing."""
    change = {"path": "/", "type": "reaction0", "action": "desc"}
    with httpx.Client() as client:
        for _ in range(MIN_BURST_CHANGES):
            client.post(f"{served.url}/api/article", json=change)


@pytest.mark.rare
@pytest.mark.parametrize(
    ("settings", "seconds", "words"),
    [
        (
            {"COUNTER_LIMIT": "1"},
            "0.1",
            "HTTP 200: Counter limit reached; this path is not counted",
        ),
        (
            {"TRUSTED_PROXIES": "192.0.2.1", "COUNTER_RATE": "0.01"},
            "0.1",
            "HTTP 429: Too Many Requests",
        ),
    ],
    ids=str,
)
def test_a_limit_of_the_service_is_told_in_its_words(
    own: Path, settings: dict[str, str], seconds: str, words: str
) -> None:
    with serving(own, **settings) as served:
        if "COUNTER_RATE" in settings:
            spend_tokens(served)
        code, output = served.ask("bench", "--seconds", seconds, "--connections", "8", served.url)
        assert code == 1
        assert re.search(rf": \d+ x {re.escape(words)}", output), output
        assert "Increments: exact" in output
        assert "Removed: " in output
        assert counters(served) == ["there are no counters"]
