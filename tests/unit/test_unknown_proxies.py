"""A proxy that TRUSTED_PROXIES lacks is noticed by whom it refuses."""

import pytest

from footfall.counting.unknown_proxies import MANY, MAX_PEERS, UnknownProxies


def refuse(proxies: UnknownProxies, peer: str, number: int = MANY) -> None:
    for n in range(number):
        proxies.refused(peer, b"192.0.2.%d" % n)


@pytest.mark.parametrize("peer", ["172.18.0.5", "fd00::5", "10.0.0.1"])
def test_an_address_of_ones_own_network_that_names_many_is_a_warning(peer: str) -> None:
    proxies = UnknownProxies()
    refuse(proxies, peer, MANY - 1)
    refuse(proxies, peer, MANY - 1)
    assert proxies.warning == ""
    refuse(proxies, peer)
    assert peer in proxies.warning
    assert "TRUSTED_PROXIES" in proxies.warning


@pytest.mark.parametrize("peer", ["8.8.8.8", "2606:4700::1", "", "no address"])
def test_what_strangers_name_is_none(peer: str) -> None:
    proxies = UnknownProxies()
    refuse(proxies, peer)
    assert proxies.warning == ""


def test_however_many_there_are_it_remembers_few() -> None:
    proxies = UnknownProxies()
    for n in range(100):
        refuse(proxies, f"10.0.0.{n}", 2 * MANY)
    assert proxies.warning.count("10.0.0.") == MAX_PEERS
