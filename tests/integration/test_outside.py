"""Services by which people log in, beside a real service: their trouble stays theirs."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.providers import Provider, provider
from tests.support.serving import serving

SERVER = {"SERVER_URL": "https://comments.example"}


@pytest.fixture
def other() -> Iterator[Provider]:
    with provider() as made:
        yield made


def test_the_list_of_services_is_fetched_before_anybody_wants_it(
    own: Path, other: Provider
) -> None:
    with serving(own, OAUTH_URL=other.url, **SERVER):
        assert other.was_asked.wait(20)
        assert other.asked == ["/"]


@pytest.mark.rare
def test_a_service_that_hangs_delays_only_log_ins(own: Path, other: Provider) -> None:
    other.stuck = {"/", "/issuer/.well-known/openid-configuration"}
    oidc = {"OIDC_ISSUER": other.issuer, "OIDC_CLIENT_ID": "footfall"}
    with (
        serving(own, OAUTH_URL=other.url, **oidc, **SERVER) as service,
        httpx.Client(base_url=service.url) as client,
    ):
        # None of these ends before the other service has timed out, if it waits for that.
        client.timeout = httpx.Timeout(3)
        assert client.post("/api/article", json={"path": "/a"}).json()["errno"] == 0
        assert client.get("/api/comment?path=/a").json()["errno"] == 0
        assert client.get("/readyz").status_code == 200
        assert client.get("/ui/").status_code == 200
        person = {"display_name": "Mara", "email": "mara@example.com", "password": "mara's own"}
        assert client.post("/api/user", json=person).json()["errno"] == 0
        token = client.post("/api/token", json=person).json()["data"]["token"]
        headers = {"authorization": f"Bearer {token}"}
        assert client.get("/api/token", headers=headers).json()["data"]["oidc"] is None
