"""`footfall bench` with a real service, and with servers that do what no server should."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from footfall.loadtest.ledger import Ledger
from footfall.loadtest.load import Load, Row
from footfall.loadtest.target import Target
from footfall.loadtest.workload import LoadRequest
from tests.support.fake_waline import Start
from tests.support.requirements import give_up
from tests.support.servers import free_port, wait_until
from tests.support.serving import SOURCES, Serving, serving

# Of each row. The servers here do what they do from the first view on.
# A busy machine keeps the last row's rate, too.
QUICK = ("--seconds", "0.1", "--connections", "8", "--rate", "20")


@pytest.fixture
def bench(directory: Path) -> Callable[..., tuple[int, str]]:
    """Run the command to its end, with a server that has no Redis: (exit code, output)."""

    def bench(url: str, *options: str) -> tuple[int, str]:
        words = ("bench", url, "--leave-behind", *QUICK, *options)
        code, output = Serving(directory).ask(*words)
        assert "Traceback" not in output, output
        return code, output

    return bench


Bench = Callable[..., tuple[int, str]]


def test_a_real_service_is_exact_and_says_so_to_people_and_programs(directory: Path) -> None:
    with serving(directory) as served:
        small = ("--seconds", "1.2", "--connections", "8")
        words = ("bench", served.url, *small, "--json", "figures.json")
        code, output = served.output_of(*words)
    figures = json.loads((directory / "figures.json").read_text())
    lines = output.splitlines()
    assert (code, lines[0]) == (0, f"{served.url}: Footfall, Waline API 1.39.3"), output
    assert lines[-1] == f"Increments: {figures['increments']['verdict']}"
    assert lines[-1].startswith("Increments: exact (accepted ")
    assert [row["name"] for row in figures["rows"]][:5] == [
        "read one count",
        "count a view",
        "read 50 counts",
        "read a comment page",
        "mixed as on a real site",
    ]
    assert len(figures["rows"]) == 6
    assert all(row["errors"] == 0 and row["accepted"] > 0 for row in figures["rows"])
    assert figures["increments"]["counted"] == figures["increments"]["accepted"] > 0
    assert (figures["exit"], figures["is_footfall"]) == (0, True)


@pytest.mark.rare
def test_a_server_that_loses_one_view_in_a_hundred_is_found_out(start: Start, bench: Bench) -> None:
    fake = start(loses=100)
    code, output = bench(fake.url)
    lost = fake.views - fake.counts.total()
    assert code == 1
    assert f"Increments: LOST {lost} (accepted {fake.views:,}, counted" in output


@pytest.mark.rare
def test_refusals_are_told_in_the_servers_words_and_count_as_errors(
    start: Start, bench: Bench
) -> None:
    fake = start(refuses=2)
    code, output = bench(fake.url)
    assert code == 1
    match = re.search(r"count a view: (\d+) x HTTP 429: One at a time, please", output)
    assert match
    assert int(match[1]) > 0
    assert "Increments: exact" in output


@pytest.mark.rare
@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"refuses": 1}, "HTTP 429: One at a time, please"),
        ({"closes": 1}, "the connection was closed before the response"),
    ],
    ids=str,
)
def test_a_server_that_only_fails_is_not_asked_for_long(
    start: Start, faults: dict[str, Any], words: str
) -> None:
    target, path = Target.find(start(**faults).url, "/"), "/x/1"
    views = repeat(LoadRequest(target.view(path), path, is_increment=True))
    load = Load(Row("views"), views, target.address, Ledger([path]), connections=8, retry_for=0.3)
    row = load.run(600)
    assert (row.accepted, [*row.troubles]) == (0, [words])
    assert row.gave_up == "Stopped: no request was answered for 0.3 seconds"


def test_a_server_that_goes_away_ends_it_with_what_was_measured(start: Start, bench: Bench) -> None:
    fake = start(ends=5)
    code, output = bench(fake.url)
    assert code == 1
    assert "read one count  " in output
    assert re.search(r"read 50 counts: \d+ x cannot connect: Connection refused", output)
    assert "but the counts cannot be read: Connection refused" in output


@pytest.mark.rare
def test_ipv6_addresses_work(start: Start, bench: Bench) -> None:
    try:
        fake = start(host="::1")
    except OSError:
        give_up("this machine has no ::1", is_in_ci=False)
    code, output = bench(fake.url)
    assert (code, output.startswith("http://[::1]:")) == (0, True), output


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"refuses_reads": True}, "rejects requests: HTTP 429: One at a time, please"),
        ({"base": "/other"}, "there is no Waline server at"),
        ({"redirects": True}, "redirects to https://elsewhere.example/"),
    ],
    ids=str,
)
def test_a_server_that_cannot_be_measured_is_described_in_a_sentence(
    start: Start, bench: Bench, faults: dict[str, Any], words: str
) -> None:
    code, output = bench(start(**faults).url)
    assert (code, output.count("\n"), words in output) == (1, 1, True), output


def test_a_server_without_tls_is_described_in_a_sentence(start: Start, bench: Bench) -> None:
    code, output = bench(start().url.replace("http:", "https:"))
    assert (code, output.count("\n"), "TLS failed" in output) == (1, 1, True), output


def test_a_server_that_closes_connections_is_described_in_a_sentence(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        code, output = bench(f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert (code, output.count("\n"), "cannot reach http://127" in output) == (1, 1, True), output


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{}", "http://[::1]:{}", "http://nowhere.invalid"]
)
def test_an_unreachable_server_is_described_in_a_sentence(bench: Bench, url: str) -> None:
    code, output = bench(url.format(free_port()))
    assert (code, output.count("\n"), "Error: cannot reach http://" in output) == (1, 1, True)


@pytest.mark.rare
def test_ctrl_c_ends_it_with_what_was_measured_so_far(start: Start, directory: Path) -> None:
    fake = start()
    words = ("bench", fake.url, "--leave-behind", "--seconds", "600", "--connections", "2")
    process = Serving(directory).run(*words)
    wait_until(lambda: fake.reads > 100, "the first row to be under way")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "read one count  " in output
    assert "count a view  " not in output
    assert "Stopped early; this is what was measured so far." in output
    assert "Increments: exact (accepted 0, counted 0)" in output


def test_the_service_does_not_load_the_load_generator() -> None:
    program = "import sys, footfall.cli.main; print('footfall.loadtest' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": SOURCES}
    printed = subprocess.check_output([sys.executable, "-c", program], env=environ, text=True)
    assert printed == "False\n"
