"""A browser that logs in by another service, and a site that allows it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.conftest import Site

from .providers import CLIENT, SECRET, Provider

HERE = "http://site.test"


def settings(other: Provider) -> dict[str, str]:
    return {
        "SERVER_URL": HERE,
        "SITE_URL": "https://blog.example",
        "OAUTH_URL": other.url,
        "OIDC_ISSUER": other.issuer,
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": SECRET,
    }


@dataclass
class Browser:
    """A browser that follows addresses, to this service and to others."""

    site: Site

    async def get(self, address: str, **headers: str) -> httpx.Response:
        if address.startswith((HERE, "/")):
            return await self.site.http.get(address.removeprefix(HERE), headers=headers)
        async with httpx.AsyncClient() as client:
            return await client.get(address)

    async def log_in(self, name: str, redirect: str = "", **headers: str) -> httpx.Response:
        """Log in at the provider and return; gives the final answer."""
        query = f"type={name}" + (f"&redirect={redirect}" if redirect else "")
        sent = await self.get(f"/api/oauth?{query}", **headers)
        assert sent.status_code == 302, sent.text
        back = await self.get(sent.headers["location"])
        assert back.status_code == 302, back.text
        return await self.get(back.headers["location"])

    async def ticket(self, name: str, redirect: str = "") -> str:
        return ticket_in((await self.log_in(name, redirect)).headers["location"])

    async def token(self, name: str) -> Any:
        body, headers = {"ticket": await self.ticket(name)}, {"referer": f"{HERE}/ui/login"}
        answer = (await self.site.http.post("/api/token", json=body, headers=headers)).json()
        assert answer["errno"] == 0, answer
        return answer["data"]


def ticket_in(address: str) -> str:
    return parse_qs(urlsplit(address).fragment)["ticket"][0]
