"""A proxy that TRUSTED_PROXIES lacks is noticed by whom it refuses."""

import pytest

from footfall.counting.unknown_proxies import MANY, MAX_PEERS, UnknownProxies
from footfall.netaddr import Proxies
from footfall.values import networks

PROXIES = Proxies.of(networks("127.0.0.0/8, 10.9.0.0/16"), "X-Real-IP")


def refuse(proxies: UnknownProxies, peer: str, number: int = MANY) -> None:
    for n in range(number):
        proxies.refused(peer, b"192.0.2.%d" % n)


@pytest.mark.parametrize("peer", ["172.18.0.5", "fd00::5", "10.0.0.1"])
def test_an_address_of_ones_own_network_that_names_many_is_a_warning(peer: str) -> None:
    proxies = UnknownProxies(PROXIES)
    refuse(proxies, peer, MANY - 1)
    refuse(proxies, peer, MANY - 1)
    assert proxies.warning == ""
    refuse(proxies, peer)
    assert peer in proxies.warning
    assert "TRUSTED_PROXIES" in proxies.warning


@pytest.mark.parametrize("peer", ["8.8.8.8", "2606:4700::1", "", "no address"])
def test_what_strangers_name_is_none(peer: str) -> None:
    proxies = UnknownProxies(PROXIES)
    refuse(proxies, peer)
    assert proxies.warning == ""


def test_however_many_there_are_it_remembers_few() -> None:
    proxies = UnknownProxies(PROXIES)
    for n in range(100):
        refuse(proxies, f"10.0.0.{n}", 2 * MANY)
    assert proxies.warning.count("10.0.0.") == MAX_PEERS


@pytest.mark.parametrize("peer", ["127.0.0.1", "10.9.0.1", ""])
def test_browsers_that_a_trusted_proxy_does_not_name_are_a_warning(peer: str) -> None:
    proxies = UnknownProxies(PROXIES)
    for n in range(MANY - 1):
        proxies.asked(peer, b"", b"browser %d" % n)
        proxies.asked(peer, b"", b"browser 0")
    assert proxies.warning == ""
    proxies.asked(peer, b"", b"another")
    assert "named none of them in x-real-ip" in proxies.warning
    assert "CLIENT_ADDRESS_HEADER" in proxies.warning
    # The proxy was corrected.
    proxies.asked(peer, b"192.0.2.1", b"browser 1")
    assert proxies.warning == ""


def test_a_probe_beside_a_proxy_that_names_clients_is_none_nor_are_strangers() -> None:
    proxies = UnknownProxies(PROXIES)
    for n in range(2 * MANY):
        proxies.asked("192.0.2.1", b"", b"browser %d" % n)
    proxies.asked("127.0.0.1", b"192.0.2.1", b"a browser")
    for n in range(2 * MANY):
        proxies.asked("127.0.0.1", b"", b"probe %d" % n)
    assert proxies.warning == ""
