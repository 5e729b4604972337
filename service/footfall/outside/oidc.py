"""OpenID Connect: one provider that identifies a person in a token that it has signed.

Authlib implements the protocol: PKCE, the exchange of the code, the claims of the token. This
module has the site's decisions: which provider, which algorithms, and which claims are trusted.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NotProven, ProviderUnavailable, ServiceError
from ..model import Identity
from ..telemetry.faults import Faults
from . import load
from .oauth import text_of

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

NAME = "oidc"
# Loaded by the first login.
NEEDED = ".fetch", "authlib.integrations.httpx_client", "authlib.oidc.core"
# Algorithms with a public key: neither `none` nor those that sign with a shared secret.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
# How long a provider's metadata is valid, and how long its keys are before they are fetched again.
KNOWN_SECONDS, KEYS_SECONDS = 3600, 60
# Errors of parsing an answer that violates the protocol.
UNUSABLE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
# Codes of a token endpoint (RFC 6749, section 5.2), about this service and about a login.
OUR_FAULTS = {"invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}
THEIR_FAULTS = {"invalid_grant"}
# A code that nobody has; four of it are a proof key.
NO_CODE = "footfall-doctor"
# The greatest difference between two clocks.
LEEWAY_SECONDS = 60
MAX_SUBJECT = 255
_MAY_BE_ASKED = re.compile(r"https://|http://(localhost|127\.0\.0\.1|\[::1\])[:/]")


@dataclass(frozen=True, slots=True)
class Client:
    """The name of this service at the provider; `secret` is "" for a public client."""

    issuer: str
    id: str
    secret: str
    scopes: str


class OpenIdConnect:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._described: tuple[float, Mapping[str, Any]] = (float("-inf"), {})
        self._keys: tuple[float, Any] = (float("-inf"), None)
        self._faults = Faults("OIDC_ISSUER")

    async def address(self, callback: str, state: str, verifier: str, nonce: str) -> str:
        """Where a browser goes to log in; it comes back to `callback`. Raises
        ProviderUnavailable."""
        await load(*NEEDED)
        endpoint = (await self._description())["authorization_endpoint"]
        async with self._opened(callback) as client:
            try:
                url, _ = client.create_authorization_url(
                    endpoint, state=state, code_verifier=verifier, nonce=nonce
                )
            except UNUSABLE as error:
                raise ProviderUnavailable() from error
        return str(url)

    async def identity(
        self, callback: str, verifier: str, nonce: str, answer: Mapping[str, str]
    ) -> Identity:
        """The person of this answer. Raises NotProven, ProviderUnavailable."""
        await load(*NEEDED)
        from authlib.common.errors import AuthlibBaseError
        from joserfc.errors import JoseError

        from .fetch import asking

        try:
            async with asking(), self._opened(callback) as client:
                described = await self._description()
                if answer.get("iss", described["issuer"]) != described["issuer"]:
                    raise NotProven()
                token = await client.fetch_token(
                    described["token_endpoint"], code=answer["code"], code_verifier=verifier
                )
                claims = await self._claims(token, nonce)
                return self._identity(claims, await self._more(client, claims))
        except (AuthlibBaseError, JoseError, *UNUSABLE) as error:
            raise self._failure(error) from error

    async def fault(self, callback: str) -> str:
        """What its token endpoint says of this service, to a code that is none; "" if it knows it.
        Raises ProviderUnavailable."""
        await load(*NEEDED)
        from authlib.common.errors import AuthlibBaseError

        from .fetch import asking

        try:
            async with asking(), self._opened(callback) as client:
                endpoint = (await self._description())["token_endpoint"]
                await client.fetch_token(endpoint, code=NO_CODE, code_verifier=NO_CODE * 4)
        except (AuthlibBaseError, *UNUSABLE) as error:
            code = _code_of(error)
            return code if code in OUR_FAULTS else ""
        return ""

    def _failure(self, error: Exception) -> ServiceError:
        """What the person is told. All but the code came from the provider itself, so it is a fault
        of its or of the settings."""
        code = _code_of(error)
        if code in THEIR_FAULTS:
            return NotProven()
        self._faults.tell(code, "nobody can log in by it; check OIDC_CLIENT_ID and its secret")
        return ProviderUnavailable() if code in OUR_FAULTS else NotProven()

    def _opened(self, callback: str) -> "AsyncOAuth2Client":
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        from .fetch import OPTIONS, BoundedTransport

        ours = self._client
        return AsyncOAuth2Client(
            ours.id,
            ours.secret or None,
            token_endpoint_auth_method=self._authentication(),
            scope=ours.scopes,
            redirect_uri=callback,
            code_challenge_method="S256",
            transport=BoundedTransport(),
            **OPTIONS,
        )

    def _authentication(self) -> str:
        if not self._client.secret:
            return "none"
        # The default for a provider that does not specify it (OpenID Connect Discovery, section 3).
        methods = self._described[1].get("token_endpoint_auth_methods_supported")
        takes_post = isinstance(methods, list) and "client_secret_basic" not in methods
        return "client_secret_post" if takes_post else "client_secret_basic"

    async def _description(self) -> Mapping[str, Any]:
        """The provider's metadata. Raises ProviderUnavailable."""
        until, described = self._described
        if time.monotonic() < until:
            return described
        from .fetch import get

        issuer = self._client.issuer
        status, description = await get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if not isinstance(description, dict) or not _is_description(description, issuer):
            self._faults.tell(f"status {status} without its metadata", "nobody can log in by it")
            raise ProviderUnavailable()
        self._described = time.monotonic() + KNOWN_SECONDS, description
        return description

    async def _key_set(self, key_id: str | None) -> Any:
        """The provider's keys, fetched again if this one is not among them."""
        from joserfc.jwk import KeySet

        from .fetch import get

        asked, keys = self._keys
        has_it = keys is not None and (not key_id or any(key.kid == key_id for key in keys.keys))
        if time.monotonic() - asked < (KNOWN_SECONDS if has_it else KEYS_SECONDS):
            return keys
        answer = (await get(self._described[1]["jwks_uri"])).json
        keys = KeySet.import_key_set({"keys": [key for key in answer["keys"] if _is_public(key)]})
        self._keys = time.monotonic(), keys
        return keys

    async def _claims(self, token: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """The claims of the provider's token. Raises JoseError, KeyError, ValueError."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jws, jwt

        id_token = str(token["id_token"])
        header = jws.extract_compact(id_token.encode()).headers()
        keys = await self._key_set(header.get("kid"))
        decoded = jwt.decode(id_token, keys, algorithms=list(ALGORITHMS))
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            {
                "iss": {"essential": True, "value": self._described[1]["issuer"]},
                "aud": {"essential": True, "value": self._client.id},
            },
            {
                "nonce": nonce,
                "client_id": self._client.id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=LEEWAY_SECONDS)
        return dict(claims)

    async def _more(
        self, client: "AsyncOAuth2Client", claims: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The claims, with those that the provider only gives on request."""
        from .fetch import json_of

        address = self._described[1].get("userinfo_endpoint")
        if not address or (text_of(claims, "name", "nickname") and "email" in claims):
            return claims
        more = json_of(await client.get(address))
        is_theirs = isinstance(more, dict) and more.get("sub") == claims["sub"]
        return {**more, **claims} if is_theirs else claims

    def _identity(self, claims: Mapping[str, Any], more: Mapping[str, Any]) -> Identity:
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
            raise NotProven()
        # Another provider may have another person with the same id.
        id = f"{claims['iss']} {subject}"
        is_vouched = more.get("email_verified") is True
        mail = text_of(more, "email") if is_vouched else ""
        nick = text_of(more, "name", "nickname", "preferred_username")
        website, picture = text_of(more, "website"), text_of(more, "picture")
        return Identity(NAME, id, nick, mail, website, picture, is_vouched=is_vouched)


def _code_of(error: Exception) -> str:
    """What the provider says is wrong, which may be anything; or which error it is."""
    code = getattr(error, "error", "")
    return code if code and isinstance(code, str) else type(error).__name__


def _is_description(description: Mapping[str, Any], issuer: str) -> bool:
    endpoints = (
        description.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
    )
    is_issuers = str(description.get("issuer", "")).rstrip("/") == issuer.rstrip("/")
    more = description.get("userinfo_endpoint")
    return is_issuers and all(
        isinstance(endpoint, str) and _MAY_BE_ASKED.match(endpoint)
        for endpoint in (*endpoints, *([more] if more else []))
    )


def _is_public(key: Any) -> bool:
    """Is it a key for signatures whose other half only the provider has?"""
    is_key = isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP")
    return is_key and key.get("use", "sig") == "sig"
