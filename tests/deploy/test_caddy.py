"""deploy/Caddyfile, read by Caddy itself, with real services behind it."""

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.requirements import program
from tests.support.servers import free_port, program_of, running, wait_until
from tests.support.serving import Serving, serving, started

from .files import DEPLOY
from .nginx import answers

CADDYFILE = DEPLOY / "Caddyfile"


@contextlib.contextmanager
def caddy(home: Path, *upstreams: str) -> Iterator[str]:
    """Its address, without a certificate."""
    port = free_port()
    text, number = re.subn(
        r"reverse_proxy \S+", f"reverse_proxy {' '.join(upstreams)}", CADDYFILE.read_text()
    )
    assert number == 1
    text = text.replace("comments.example.com {", f"http://127.0.0.1:{port} {{")
    file = home / "Caddyfile"
    file.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
    environ = {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    command = [program("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: answers(port), "Caddy to answer")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture
def url(own: Path) -> Iterator[str]:
    with serving(own / "s", IPQPS="60") as served, caddy(own, served.url[7:]) as url:
        yield url


def test_clients_reach_the_service_and_nobody_its_probes(url: str) -> None:
    assert httpx.post(f"{url}/api/article", json={"path": "/a"}).json()["data"] == [{"time": 1}]
    assert httpx.get(f"{url}/ui/login").status_code == 200
    for path in ("/metrics", "/livez", "/readyz", "/version"):
        assert httpx.get(url + path).status_code == 404


def test_a_visitor_is_the_address_that_it_sees_whatever_they_claim(url: str) -> None:
    def post(address: str, claim: str) -> int:
        draft = {"comment": f"from {address}, {claim}", "url": "/c", "nick": "Ann"}
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address)) as client:
            headers = {"X-Forwarded-For": claim}
            answer = client.post(f"{url}/api/comment", json=draft, headers=headers).json()
        errno: int = answer["errno"]
        return errno

    too_fast = 1000
    assert post("127.0.0.5", "192.0.2.1") == 0
    assert post("127.0.0.5", "192.0.2.2") == too_fast
    assert post("127.0.0.6", "192.0.2.1") == 0


@pytest.mark.rare
def test_two_services_restart_in_turn_without_a_failed_request(own: Path) -> None:
    with running(program_of("valkey"), own / "r") as server:
        settings = {"REDIS_URL": server.url, "COUNTER_RATE": "0", "DRAIN_SECONDS": "3"}
        both = [Serving(own / f"s{n}", PORT=str(free_port()), **settings) for n in range(2)]
        with contextlib.ExitStack() as stack:
            for each in both:
                stack.enter_context(started(each))
            url = stack.enter_context(caddy(own, *(each.url[7:] for each in both)))
            client = stack.enter_context(httpx.Client(timeout=60))
            counted = 0
            for each in both:
                assert each.process is not None
                each.process.send_signal(signal.SIGTERM)
                while each.process.poll() is None:
                    answer = client.post(f"{url}/article", json={"path": "/a"})
                    assert answer.status_code == 200, answer.text
                    counted += 1
                each.process.communicate()
                each.start()
                # Until the proxy has seen that it is back, the other one gets all.
                with httpx.Client(base_url=each.url) as own_client:
                    wait_until(lambda: is_asked(own_client, client, url), "its first request")
            assert client.get(f"{url}/article?path=/a").json() == counted


def is_asked(own_client: httpx.Client, client: httpx.Client, url: str) -> bool:
    """Does the proxy ask this service, too?"""
    client.get(f"{url}/api/article?path=/a")
    return 'route="article_read"' in own_client.get("/metrics").text
