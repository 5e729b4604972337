"""By which services people may log in, where they return to, and where they may be sent then."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from ..errors import ProviderUnavailable
from ..model import Identity
from . import oidc
from .oauth import OAuthServices
from .oidc import OpenIdConnect
from .targets import Targets

# Below the service's address, which a setting names and never a request.
CALLBACK = "/api/oauth"
LABELS = {"github": "GitHub", "qq": "QQ", "oidc": "OpenID Connect", "x": "X"}


@dataclass(frozen=True, slots=True)
class Flow:
    """A started login: its service, its target, the account to which it is to be added, with the
    session that requested it, and the proof that an answer belongs to it."""

    name: str
    state: str
    target: str
    account: str = ""
    verifier: str = ""
    nonce: str = ""
    session: str = ""


class Providers:
    """No services, by default."""

    def __init__(
        self,
        targets: Targets | None = None,
        oauth: OAuthServices | None = None,
        connect: OpenIdConnect | None = None,
        connect_label: str = "",
    ) -> None:
        self.targets = targets or Targets()
        self._oauth = oauth
        self._connect = connect
        self._connect_label = connect_label

    @property
    def is_any(self) -> bool:
        return bool(self._oauth or self._connect)

    def known(self) -> tuple[str, ...]:
        """Their cached names, without waiting."""
        return self._with(self._oauth.known() if self._oauth else ())

    async def names(self, wait_seconds: float) -> tuple[str, ...]:
        """The services' names, waiting at most this long if none are cached."""
        return self._with(await self._oauth.names(wait_seconds) if self._oauth else ())

    def label(self, name: str) -> str:
        """The name that people see."""
        if self._connect and name == oidc.NAME:
            return self._connect_label
        return LABELS.get(name, name.capitalize())

    def _with(self, others: tuple[str, ...]) -> tuple[str, ...]:
        own = (oidc.NAME,) if self._connect else ()
        return own + tuple(other for other in others if other not in own)

    async def address(self, flow: Flow) -> str:
        """Where a browser goes to log in. Raises ProviderUnavailable."""
        callback = self._callback(flow)
        if self._connect and flow.name == oidc.NAME:
            return await self._connect.address(callback, flow.state, flow.verifier, flow.nonce)
        if self._oauth is None:
            raise ProviderUnavailable()
        return self._oauth.address(flow.name, callback, flow.state)

    async def identity(self, flow: Flow, answer: Mapping[str, str]) -> Identity:
        """The person of this answer. Raises NotProven, ProviderUnavailable."""
        callback = self._callback(flow)
        if self._connect and flow.name == oidc.NAME:
            return await self._connect.identity(callback, flow.verifier, flow.nonce, answer)
        if self._oauth is None:
            raise ProviderUnavailable()
        return await self._oauth.identity(flow.name, callback, flow.state, answer)

    def fault(self, setting: str) -> Awaitable[str] | None:
        """What is wrong with the service that this setting names, as it answers now; "" if nothing
        is. None for any other setting. Raises ProviderUnavailable."""
        if setting == "OAUTH_URL" and self._oauth:
            return self._oauth.fault()
        if setting == "OIDC_ISSUER" and self._connect:
            return self._connect.fault(self.targets.server_url + CALLBACK)
        return None

    def _callback(self, flow: Flow) -> str:
        # A provider compares addresses literally. Other services have a `state` of their own, so
        # ours is in their address as well.
        is_known = self._connect and flow.name == oidc.NAME
        more = "" if is_known else f"?type={flow.name}&flow={flow.state}"
        return self.targets.server_url + CALLBACK + more
