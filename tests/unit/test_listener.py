"""An address that cannot be listened on is named, with what to do about it."""

import socket

import pytest

from footfall.config import Settings
from footfall.driver.private_server import CannotStart
from footfall.server.listener import bound
from tests.support.requirements import give_up


# None of them is looked for in the network.
@pytest.mark.parametrize("host", ["-nowhere", "\u200b"])
def test_a_host_that_nobody_knows_is_called_that(host: str) -> None:
    settings = Settings.from_env({"HOST": host})
    with pytest.raises(CannotStart, match="; this HOST cannot be resolved$"), bound(settings):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_an_address_that_another_process_has_is_called_that(host: str) -> None:
    if host == "[::1]":
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            give_up("this machine has no IPv6", is_in_ci=False)
    settings = Settings.from_env({"HOST": host, "PORT": "0"})
    with bound(settings) as other:
        other.listen()
        port = other.getsockname()[1]
        again = Settings.from_env({"HOST": host, "PORT": str(port)})
        words = f"cannot listen on {settings.host} port {port}: Address already in use; another"
        with pytest.raises(CannotStart, match=words), bound(again):
            pass
