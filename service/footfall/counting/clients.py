"""The client of a counter change: its tokens, and its view."""

from ..driver.commands import pack_word
from ..model import Caller
from ..netaddr import Networks, Proxies
from ..statistics.agents import OWN, class_of_view
from ..statistics.moment import Moment
from ..statistics.visitors import agent_part, number_of, sender_of
from .limits import RateLimits
from .unknown_proxies import UnknownProxies

# With the longest headers, they are 12 MB.
MAX_KEPT_CLIENTS, MAX_KEPT_AGENTS = 8_192, 1_024
MAX_KEPT_BYTES = 1_024
# The first language is all that counts.
MAX_LANGUAGE_BYTES = 16

_NONE, _ONE, _OWN = pack_word(0), pack_word(1), pack_word(OWN)
# What lua/counters/count.lua receives of a view: numbers of people and of bots, and who they are.
NOBODY_SEEN = _NONE + _NONE
_PERSON_SEEN = _ONE + _NONE


class CountingClient:
    """`key` is its name in the rate limits, "" if it has none. Its visitor is not noted: visitors
    are not distinguished, or it changes something other than views."""

    __slots__ = ("key",)

    # The arguments for one view, how many of them say who a visitor or bot is, and a visitor.
    noted = NOBODY_SEEN
    words = people = 0

    def __init__(self, key: str = "") -> None:
        self.key = key


NO_CLIENT = CountingClient()


class Bot(CountingClient):
    """`bot` is its class, packed."""

    __slots__ = ("bot", "noted")

    words = 1

    def __init__(self, key: str, bot: bytes) -> None:
        self.key = key
        self.bot = bot
        self.noted = _NONE + _ONE + bot


class Person(CountingClient):
    """Has a number, which the salt of a day makes; 0 while no day has one."""

    __slots__ = ("_agent", "day", "language", "noted", "number", "packed", "sender")

    words = people = 1

    def __init__(self, key: str, sender: str, agent: bytes, language: bytes = b"") -> None:
        """`agent` is an agent_part, and `language` the header Accept-Language."""
        self.key = key
        self.sender = sender
        self._agent = agent
        self.language = language[:MAX_LANGUAGE_BYTES]
        self.day = 0

    @property
    def agent(self) -> bytes:
        return self._agent.partition(b":")[2]

    def renew(self, moment: Moment) -> bool:
        """Have the number of this day; False if its salt is not known."""
        if self.day == moment.day:
            return True
        if moment.salted is None:
            return False
        self.day = moment.day
        self.number = number_of(moment.salted, self.sender, self._agent)
        text = b"%d" % self.number
        self.packed = b"$%d\r\n%b\r\n" % (len(text), text)
        self.noted = _PERSON_SEEN + self.packed
        return True


class Clients(dict[tuple[str, bytes, bytes, bytes], CountingClient]):
    """(peer's address, X-Forwarded-For if it is a proxy's, user agent, purpose) -> the client. The
    purpose is the header Sec-Purpose, or Purpose.

    A cache, since most clients return. It contains addresses, so it is cleared at the end of the
    day.
    """

    def __init__(
        self,
        limits: RateLimits,
        proxies: Proxies,
        unknown_proxies: UnknownProxies,
        *,
        tells_visitors: bool,
        own: Networks | None = None,
    ) -> None:
        """`tells_visitors` distinguishes visitors; `own` are the networks of the site's own
        people."""
        self._day = 0
        # (user agent, purpose) -> the bot's class, packed, or b""; and the agent_part.
        self._agents: dict[tuple[bytes, bytes], tuple[bytes, bytes]] = {}
        self._limits = limits
        self.are_limited = limits.are_on
        self._proxies, self._unknown_proxies = proxies, unknown_proxies
        self._own = own
        self.tells_visitors = tells_visitors

    def of_peer(self, address: str) -> CountingClient:
        """The client of a connection, if headers say nothing else."""
        return CountingClient(self._limits.client_key(address))

    def of_caller(self, caller: Caller) -> CountingClient:
        agent = caller.agent.encode("latin-1", errors="replace")
        asked = caller.address, b"", agent, caller.purpose
        return self.get(asked) or self.meet(asked, caller.language.encode(errors="replace"))

    def forget_others_than(self, day: int) -> None:
        """Forget the clients of a past day."""
        if day != self._day:
            self.clear()
            self._day = day

    def meet(self, asked: tuple[str, bytes, bytes, bytes], language: bytes) -> CountingClient:
        """Make a client that is not known; `language` is its header Accept-Language."""
        peer, forwarded, agent, purpose = asked
        self._unknown_proxies.asked(peer, forwarded, agent)
        if address := self._limits.lone_address(forwarded):
            # As nearly always behind a proxy.
            key = address if self.are_limited else ""
        else:
            address = self._proxies.behind(peer, forwarded) if forwarded else peer
            key = self._limits.client_key(address)
        client: CountingClient
        if not self.tells_visitors:
            client = CountingClient(key)
        elif self._own is not None and address in self._own:
            client = Bot(key, _OWN)
        else:
            bot, part = self._agents.get((agent, purpose)) or self._look_at(agent, purpose)
            client = (
                Bot(key, bot) if bot else Person(key, key or sender_of(address), part, language)
            )
        if len(self) >= MAX_KEPT_CLIENTS:
            self.clear()
        if len(forwarded) + len(agent) + len(purpose) <= MAX_KEPT_BYTES:
            self[asked] = client
        return client

    def _look_at(self, agent: bytes, purpose: bytes) -> tuple[bytes, bytes]:
        name = class_of_view(agent, purpose=purpose)
        found = pack_word(name) if name else b"", agent_part(agent)
        if len(self._agents) >= MAX_KEPT_AGENTS:
            self._agents.clear()
        if len(agent) + len(purpose) <= MAX_KEPT_BYTES:
            self._agents[agent, purpose] = found
        return found
