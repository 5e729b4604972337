"""The server that a trial is about: who it is, in which layout it answers, what it has counted.

Any server with the Waline API will do, under /api or, as older ones have it, without. A Footfall is
known by its counter snippet, which no other server has: it forgets the counters of a trial by
itself, and others would keep them for ever.
"""

import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from .exchange import Address, Answer, Client, request

# One request asks for so many; their paths make a line of less than 4 kB, which every server takes.
PATHS_AT_ONCE = 50
# An attribute of Footfall's snippet, and of the page that shows how to use it.
FOOTPRINT = b"data-footfall-views"
HEADERS = (("User-Agent", "footfall-bench"), ("Accept", "*/*"))
_REDIRECTS = (301, 302, 303, 307, 308)


# What Footfall says of paths below a trial where they are turned off.
OFF = "TRIALS=0"
# What a trial's paths begin with: Footfall keeps counters of the first apart and forgets them after
# an hour; where it may not, they are of the second. No site has either.
FORGOTTEN = "/.trial/%s/"
KEPT = "/.left/%s/"


class CannotMeasure(Exception):
    """With words for whoever asked."""


@dataclass(frozen=True, slots=True)
class Target:
    """`prefix` is where the API begins. `version` is of the API, as the server has it.

    `namespace` is what the paths begin with that are counted.
    """

    address: Address
    prefix: str
    version: str
    footfall: str | None
    namespace: str = ""
    forgets: bool = False

    @classmethod
    def find(cls, url: str, id: str, *, may_leave_behind: bool = True) -> "Target":
        """Ask for a count of a trial with this id, and who is there. Raises CannotMeasure.

        Only who may leave counters behind finds a server that would keep them for ever.
        """
        try:
            address = Address.parse(url)
            # People copy the address of the API; the prefix is added below.
            address = replace(address, base=address.base.removesuffix("/api"))
        except ValueError as error:
            raise CannotMeasure(str(error)) from error
        with Client(address) as client:
            try:
                target = cls._find(client, address, FORGOTTEN % id, KEPT % id)
            except OSError as error:
                raise CannotMeasure(f"cannot reach {address}: {reason(error)}") from error
        if not (target.forgets or may_leave_behind):
            is_other = "is not a Footfall, which forgets the counters of a trial"
            is_off = f"is a Footfall in which trials are turned off ({OFF})"
            raise CannotMeasure(
                f"{address} {is_other if target.footfall is None else is_off}: it would keep the "
                "counters for ever. With --leave-behind it is measured nevertheless"
            )
        return target

    @classmethod
    def _find(cls, client: Client, address: Address, path: str, other: str) -> "Target":
        answers = []
        for prefix in ("/api", ""):
            target = cls(address, prefix, "", None)
            answer = client.ask(target.read([path]))
            is_off = not answer.is_accepted and OFF in answer.refusal
            if is_off:
                answer = client.ask(target.read([other]))
            if answer.is_accepted and counts_in(answer) is not None:
                version, footfall = answer.header("x-waline-version"), _footfall(client, address)
                forgets = footfall is not None and not is_off
                namespace = other if is_off else path
                return cls(address, prefix, version, footfall, namespace, forgets)
            answers.append(answer)
        raise CannotMeasure(_no_waline(address, answers[0]))

    @property
    def name(self) -> str:
        speaks = f"Waline API {self.version}".rstrip()
        if self.footfall is None:
            return f"a server of the {speaks}"
        return f"{f'Footfall {self.footfall}'.rstrip()}, {speaks}"

    # Requests, ready to be sent.

    def read(self, paths: Sequence[str]) -> bytes:
        return self._get(f"/article?path={quote(','.join(paths), safe='/,')}&type=time")

    def view(self, path: str) -> bytes:
        body = json.dumps({"path": path, "type": "time", "action": "inc"}).encode()
        target = f"{self.address.base}{self.prefix}/article"
        return request("POST", target, self.address.host, HEADERS, body)

    def page(self, path: str) -> bytes:
        """The first page of an article's comments."""
        # Whatever bytes came from the command line.
        quoted = quote(path, safe="/", errors="surrogateescape")
        return self._get(f"/comment?path={quoted}&page=1&pageSize=10&sortBy=insertedAt_desc")

    def _get(self, target: str) -> bytes:
        return request(
            "GET", f"{self.address.base}{self.prefix}{target}", self.address.host, HEADERS
        )

    def counted(self, paths: Sequence[str]) -> list[int]:
        """The counts of these paths, in order. Raises CannotMeasure."""
        found: list[int] = []
        try:
            with Client(self.address) as client:
                for at in range(0, len(paths), PATHS_AT_ONCE):
                    some = paths[at : at + PATHS_AT_ONCE]
                    answer = client.ask(self.read(some))
                    if not answer.is_accepted:
                        raise CannotMeasure(answer.refusal)
                    counts = counts_in(answer)
                    if counts is None or len(counts) != len(some):
                        raise CannotMeasure(f"asked for {len(some)} counts, it told something else")
                    found += counts
        except OSError as error:
            raise CannotMeasure(reason(error)) from error
        return found


def counts_in(answer: Answer) -> list[int] | None:
    """The counts that an answer tells, in whichever shape; None if it tells none."""
    said = answer.json()
    if isinstance(said, dict) and "data" in said:
        said = said["data"]
    counts = [_count(each) for each in (said if isinstance(said, list) else [said])]
    return None if None in counts else [each for each in counts if each is not None]


def _count(said: Any) -> int | None:
    if isinstance(said, dict) and "time" in said:
        # A path that nobody has viewed, but perhaps reacted to.
        said = said["time"] or 0
    return said if isinstance(said, int) and not isinstance(said, bool) else None


def _footfall(client: Client, address: Address) -> str | None:
    """The version of Footfall, "" if it does not tell, None if it is none.

    A proxy may let through nothing but the API, where the demonstration page is, too.
    """
    for path in ("/count.js", "/api"):
        answer = client.ask(request("GET", f"{address.base}{path}", address.host, HEADERS))
        if answer.status == 200 and FOOTPRINT in answer.body:
            return answer.header("x-footfall-version")
    return None


def _no_waline(address: Address, answer: Answer) -> str:
    if answer.status in _REDIRECTS:
        # Nothing is followed: what is measured should be what was named.
        return f"{address} sends everybody on to {answer.header('location')}; give the last address"
    said = answer.json()
    if isinstance(said, dict) and "errno" in said or answer.status in (403, 429, 503):
        return f"{address} refuses to answer: {answer.refusal}"
    return f"there is no Waline server at {address}: /api/article answers {answer.refusal}"


def reason(error: OSError) -> str:
    """What went wrong, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return error.strerror or str(error) or type(error).__name__
