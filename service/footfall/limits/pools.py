"""The pools of a process. docs/operations.md has them all."""

from dataclasses import dataclass, field, fields

from .pool import Pool, Shares

# A client's characters that wait for rendering: four of the longest comments, a quarter of a second
# each.
CLIENT_CHARACTERS = 4 * 16_384


def _rendering() -> Pool:
    # One thread, because Python runs one at a time, and each further one would slow the event loop.
    return Pool(at_once=1, capacity=16 * CLIENT_CHARACTERS, each=CLIENT_CHARACTERS)


def _passwords() -> Pool:
    # Each takes 19 MiB and some 30 ms of a core.
    return Pool(at_once=2, capacity=512, each=32)


def _pages() -> Pool:
    return Pool(at_once=8, capacity=2_048, each=64)


def _feeds() -> Pool:
    return Pool(at_once=1, capacity=512, each=4)


def _statistics() -> Pool:
    return Pool(at_once=1, capacity=512, each=8)


def _captchas() -> Pool:
    return Pool(at_once=32, capacity=512, each=32)


def _log_ins() -> Pool:
    return Pool(at_once=32, capacity=512, each=32)


def _mails() -> Pool:
    return Pool(at_once=8, capacity=512, each=32)


def _retried_mails() -> Shares:
    return Shares(capacity=1_024, each=32)


def _streams() -> Shares:
    return Shares(capacity=1_000, each=8)


def _bulk_actions() -> Shares:
    return Shares(capacity=16, each=8)


@dataclass(frozen=True, slots=True)
class Pools:
    """Whatever all clients of a process share, but for connections (http/connection.py)."""

    # Characters of comments.
    rendering: Pool = field(default_factory=_rendering)
    passwords: Pool = field(default_factory=_passwords)
    # Pages of comments.
    pages: Pool = field(default_factory=_pages)
    feeds: Pool = field(default_factory=_feeds)
    statistics: Pool = field(default_factory=_statistics)
    # Requests to other services: a pool for each.
    captchas: Pool = field(default_factory=_captchas)
    log_ins: Pool = field(default_factory=_log_ins)
    # Emails to accounts: attempts to send one, and those that wait for the next attempt.
    mails: Pool = field(default_factory=_mails)
    retried_mails: Shares = field(default_factory=_retried_mails)
    # Of live pages.
    streams: Shares = field(default_factory=_streams)
    # Background actions of administrators.
    bulk_actions: Shares = field(default_factory=_bulk_actions)

    def __post_init__(self) -> None:
        for each in fields(self):
            getattr(self, each.name).name = each.name
