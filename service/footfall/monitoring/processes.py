"""Resources of each worker's process, for /metrics, and its versions."""

import asyncio
import platform
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..telemetry.metrics import Counter

# The libraries that have the most to do with how requests are answered.
LIBRARIES = (
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
    "redis",
    "hiredis",
    "orjson",
    "nh3",
    "markdown-it-py",
)
# What of it is of use, and the text of its own.
METRICS = {
    "process_cpu_seconds": "CPU time of a worker, user and system",
    "process_resident_memory_bytes": "Memory of a worker",
    "process_open_fds": "Open file descriptors of a worker",
    "process_max_fds": "File descriptor limit of a worker",
    "process_start_time_seconds": "Start of a worker, in seconds since the epoch",
}


@cache
def build(footfall: str) -> dict[str, str]:
    """The versions of this service, of Python and of LIBRARIES, by names that labels may have."""
    made_of = {"version": footfall, "python": platform.python_version()}
    return made_of | {name.replace("-", "_"): _version(name) for name in LIBRARIES}


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


class Processes(Collector):
    """The processes of all workers, by prometheus-client, which reads /proc; nothing on other
    systems."""

    def __init__(self, pids: Counter) -> None:
        self._pids = pids
        self._told: list[Metric] = []

    async def refresh(self) -> None:
        """Read them in a thread: to list 10,000 descriptors may take a tenth of a second."""
        pids = [int(pid) for pid in self._pids.by_worker()]
        self._told = await asyncio.to_thread(_of_processes, pids)

    def collect(self) -> list[Metric]:
        return self._told


def _of_processes(pids: Sequence[int]) -> list[Metric]:
    """METRICS of the process of each worker; 0 for none."""
    kinds = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for worker, pid in enumerate(pids):
        for each in _of_process(pid) if pid else ():
            if text := METRICS.get(each.name):
                kind = kinds[each.type]
                family = families.setdefault(each.name, kind(each.name, text, labels=["worker"]))
                family.add_metric([str(worker)], each.samples[0].value)
    return [*families.values()]


def _of_process(pid: int) -> Iterable[Metric]:
    return ProcessCollector(pid=lambda: pid, registry=None).collect()
