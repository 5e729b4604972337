"""What `footfall doctor` examines outside this process: the service, Redis, the data set, and the
servers in the settings. Nothing is started, changed or sent.

Everything is bounded in time, and reports in a sentence why it could not be examined.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from ..comments.rules.authors import iso
from ..config import Settings
from ..data.backups import LastBackup
from ..data.store import FORMAT, Mismatch, Store
from ..driver import private_aof
from ..driver.facts import Facts
from ..driver.private_server import url_of
from ..driver.replies import ErrorReply, sentence
from ..driver.safety import Safety
from ..driver.url import advised
from ..errors import StoreUnavailable
from ..limits.floods import told
from ..maintenance.check import Line, Problem
from ..notifications.rules.channels import smtp_of
from ..notify.notification import NotDelivered
from ..plurals import number_of
from ..process.process import Process, now_ms
from ..stores import open_process, open_store
from . import dummies
from .dataset import described
from .probe import NoAnswer, ask

# For all queries to the service, to Redis, and to each other server.
SERVICE_SECONDS = 3.0
REDIS_SECONDS = 10.0
SERVER_SECONDS = 5.0


async def service(settings: Settings) -> list[Line]:
    """How the service is that these settings start, by its /readyz."""
    place = settings.uds or f"{settings.host} port {settings.port}"
    try:
        status, text = await asyncio.to_thread(
            ask, settings.host, settings.port, settings.uds, "/readyz", SERVICE_SECONDS
        )
        said = json.loads(text)
        findings = [*said["reasons"], *said["warnings"]]
    except NoAnswer as error:
        return [Line(f"none runs here: {error}")]
    except (ValueError, KeyError, TypeError):
        return [
            Problem(f"what answers at {place} is not Footfall: /readyz is not JSON of its kind")
        ]
    return [Line(f"at {place}: {said.get('status', status)}"), *map(Problem, findings)]


async def redis(settings: Settings) -> Mapping[str, list[Line]]:
    """Redis, the data set in it, and who floods."""
    servers, data = list[Line](), list[Line]()
    sections = {"Redis": servers, "Data set": data}
    try:
        data.append(Line(described(settings)))
        if not (settings.redis_url or (settings.data_dir / "redis.sock").exists()):
            no_server = Line("no service runs on DATA_DIR, so its private server is stopped")
            flaw = private_aof.flaw(settings.data_dir.absolute())
            servers += [no_server, *([Problem(flaw)] if flaw else [])]
            return sections
        async with asyncio.timeout(REDIS_SECONDS), _opened(settings) as (process, store):
            servers += await _servers(process.safety)
            data += await _data(settings, store)
            sections["Who floods"] = await _floods(store)
    except TimeoutError:
        servers.append(Problem(f"no answer within {REDIS_SECONDS:g} s"))
    except (ValueError, Mismatch, OSError) as error:
        servers.append(Problem(str(error)))
    except (StoreUnavailable, ErrorReply) as error:
        servers.append(Problem(advised(sentence(error))))
    return sections


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[Process, Store]]:
    quiet = replace(settings, slow_seconds=0.0, read_from_replicas=False)
    process = open_process(quiet, settings.redis_url or url_of(settings.data_dir))
    try:
        yield process, open_store(quiet, process)
    finally:
        await process.close()


async def _servers(safety: Safety) -> list[Line]:
    lines = [Line(_server(facts)) for facts in (await safety.facts()).values()]
    await safety.check(logs=False, tries=False)
    return [*lines, *(Problem(problem.text) for problem in safety.problems.values())]


def _backup(last: LastBackup | None) -> list[Line]:
    """When the last backup was made, and why one failed after that."""
    if last is None:
        return [Line("no backup was made yet")]
    made = f"last backup: {iso(last.at_ms)}, {number_of(last.bytes, 'byte')}"
    lines = [Line(made if last.at_ms else "no backup was made yet")]
    if last.failed_at_ms > last.at_ms:
        lines.append(Problem(f"the backup at {iso(last.failed_at_ms)} failed: {last.error}"))
    return lines


def _server(facts: Facts | None) -> str:
    """A server in a line."""
    if facts is None:
        return "a server that hides its configuration"
    name = "Valkey" if "valkey_version" in facts else "Redis"
    version = facts.get("valkey_version") or facts.get("redis_version", "of no version")
    most = int(facts.get("maxmemory", 0))
    lines = [
        f"{name} {version}",
        f"port {facts['tcp_port']}" if facts.get("tcp_port", "0") != "0" else "",
        facts.get("redis_mode", ""),
        f"role {facts.get('role', 'unknown')}",
        f"{facts.get('used_memory_human', '?')} of memory used",
        f"maxmemory {_size(most)}" if most else "no maxmemory",
        f"append-only file {'on' if facts.get('aof_enabled') == '1' else 'off'}",
        f"appendfsync {facts['appendfsync']}" if "appendfsync" in facts else "",
        number_of(int(facts.get("connected_slaves", 0)), "replica"),
        f"clock {int(facts['time']) - int(time.time()):+d} s from ours",
        f"up for {timedelta(seconds=int(facts.get('uptime_in_seconds', 0)))}",
    ]
    return ", ".join(filter(None, lines))


async def _floods(store: Store) -> list[Line]:
    floods = await store.floods.lately(now_ms())
    return [*map(Line, told(floods))] or [Line("nobody was refused often in two minutes")]


async def _data(settings: Settings, store: Store) -> list[Line]:
    try:
        await store.open()
    except Mismatch as error:
        return [Problem(str(error))]
    accounts, _ = await store.accounts.listed(0, 1)
    administrators = len(await store.accounts.administrators())
    depth = await store.outbox.depth()
    lines = [
        Line(f"id {store.data_set_id.decode()}, format {FORMAT}"),
        Line(str(await store.scale.weigh() or "the amount of data is unknown")),
        Line(f"{number_of(accounts, 'account')}, {number_of(administrators, 'administrator')}"),
        Line(f"outbox: {depth.waiting:,} queued, {depth.later:,} to be retried"),
    ]
    lines += _backup(await store.backups.last())
    if not administrators:
        lines.append(Problem(settings.account_rules.vacancy))
    if depth.undelivered:
        # In the words of /readyz, so that it is one thing that is wrong.
        said = f"{depth.undelivered} failed: `footfall outbox list` shows why"
        lines.append(Problem(said))
    return lines


async def others(settings: Settings) -> list[Line]:
    """The servers that the settings name: whether they can be reached."""
    mails = [_mail(settings)] if settings.has_mail else []
    addresses = _addresses(settings)
    asked = (_asked(settings, *item) for item in addresses.items())
    lines = await asyncio.gather(*mails, *asked)
    if settings.push_urls or settings.qmsg_key:
        lines.append(Line("chats and phones: not tried; `footfall notify test` sends to them"))
    return lines or [Line("none configured")]


def _addresses(settings: Settings) -> Mapping[str, str]:
    """The other services in use, by the setting that names each."""
    named: Iterable[tuple[str, str, object]] = (
        ("WEBHOOK", settings.webhook, True),
        ("JUDGE_WEBHOOK", settings.judge_webhook, True),
        ("AKISMET_URL", settings.akismet_url, settings.akismet_key),
        ("MODEL_URL", settings.model_url, True),
        ("OAUTH_URL", settings.oauth_url, True),
        ("OIDC_ISSUER", settings.oidc_issuer, True),
        ("TURNSTILE_URL", settings.turnstile_url, settings.turnstile_secret),
        ("RECAPTCHA_V3_URL", settings.recaptcha_url, settings.recaptcha_secret),
    )
    return {name: url for name, url, is_used in named if url and is_used}


async def _asked(settings: Settings, name: str, url: str) -> Line:
    from ..outside.reach import reach

    # The path of a webhook is a secret.
    place = f"{name}, {urlsplit(url).hostname}"
    if why := await reach(url, SERVER_SECONDS):
        return Problem(f"{place}: {why}")
    fault = await dummies.fault(name, settings)
    if fault:
        return Problem(f"{place}: {fault}")
    return Line(f"{place}: reachable" if fault is None else f"{place}: it knows this service")


async def _mail(settings: Settings) -> Line:
    try:
        smtp = smtp_of(settings, "Footfall", settings.server_url)
    except ValueError as error:
        return Problem(str(error))
    place = f"mail server, {smtp.place.host} port {smtp.place.port}"
    try:
        async with asyncio.timeout(SERVER_SECONDS):
            await smtp.greet()
    except TimeoutError:
        return Problem(f"{place}: no answer within {SERVER_SECONDS:g} s")
    except NotDelivered as error:
        return Problem(f"{place}: {error}")
    return Line(f"{place}: {'logged in' if smtp.user else 'reachable'}")


def _size(bytes: int) -> str:
    return f"{bytes / 1e9:,.1f} GB" if bytes >= 1e9 else f"{bytes / 1e6:,.0f} MB"
