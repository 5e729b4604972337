"""The accounts of a site, and what their rules need."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..limits.buckets import TokenBuckets
from ..model import Viewer
from ..outside.providers import Providers
from ..permissions import AccountRules
from ..process.process import Process
from ..render.view import DisplayOptions
from .rules.account_mails import AccountMails
from .rules.bans import KnownBans
from .rules.captcha import Captcha
from .rules.devices import Devices
from .rules.lookalikes import Lookalikes
from .rules.passwords import Passwords
from .rules.sessions import Sessions
from .store.accounts import AccountStore
from .store.log import ModerationLog


@dataclass(frozen=True, slots=True)
class Accounts:
    process: Process
    store: AccountStore
    rules: AccountRules
    bans: KnownBans
    sessions: Sessions
    devices: Devices
    mails: AccountMails
    captcha: Captcha
    lookalikes: Lookalikes
    buckets: TokenBuckets
    log: ModerationLog
    # The login services.
    providers: Providers
    # What readers see of an account.
    display: DisplayOptions
    # Hosts that cannot be banned.
    own_hosts: frozenset[str]
    # The viewer with this token; the public for an invalid one.
    viewer_of: Callable[[str], Awaitable[Viewer]]
    # Threads that hash.
    passwords: Passwords = field(init=False)
    # Each is told of changes that readers see.
    followers: list[Callable[[str, int], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "passwords", Passwords(self.process.pools.passwords))

    def tell(self, id: str, since_ms: int) -> None:
        """Readers may not see this account as it is since then: have that followed at once."""
        for follow in self.followers:
            follow(id, since_ms)
