import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.netaddr import NetworkMap, Networks, limit_key, network_key, network_text

networks = st.builds(
    lambda address, cut: ipaddress.ip_network((address, address.max_prefixlen - cut), strict=False),
    st.ip_addresses(v=4) | st.ip_addresses(v=6),
    st.integers(0, 32),
)
# Networks that are close to one another, so that some are inside others.
near = st.builds(
    lambda start, step: start + step,
    st.sampled_from([ipaddress.ip_address("192.0.2.0"), ipaddress.ip_address("2001:db8::")]),
    st.integers(0, 300),
)


@given(st.lists(networks, max_size=3), st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_an_address_is_in_a_network_as_the_standard_library_says(
    given: list[ipaddress.IPv4Network | ipaddress.IPv6Network],
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    mapped = getattr(address, "ipv4_mapped", None) or address
    for one in (*given, ipaddress.ip_network(mapped)):
        assert (str(address) in Networks([one])) == (mapped in one)
    assert (str(address) in Networks(given)) == any(mapped in each for each in given)


@given(near, near, st.integers(20, 32))
def test_an_address_and_its_neighbours_are_in_the_same_network(
    one: ipaddress.IPv4Address | ipaddress.IPv6Address,
    other: ipaddress.IPv4Address | ipaddress.IPv6Address,
    bits: int,
) -> None:
    network = ipaddress.ip_network((one, one.max_prefixlen - 32 + bits), strict=False)
    assert (str(other) in Networks([network])) == (other in network)


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "192.0.2", "192.0.2.01", "1" * 50, "192.0.2.1\0", "\u0661.0.0.1", "::1::"],
)
def test_a_text_that_is_no_address_is_in_no_network(text: str) -> None:
    every = Networks([ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")])
    assert text not in every
    assert limit_key(text) == text


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_limits_are_for_an_ipv4_address_or_an_ipv6_network(address: str, key: str) -> None:
    assert limit_key(address) == key


@given(st.lists(networks, max_size=4), st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_values_of_networks_are_found_by_their_addresses(
    given: list[ipaddress.IPv4Network | ipaddress.IPv6Network],
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    texts = {network_text(str(each)) for each in given}
    table = NetworkMap[str]()
    for text in texts:
        table[text] = text
    mapped = getattr(address, "ipv4_mapped", None) or address
    assert set(table.of(str(address))) == {
        text for text in texts if mapped in ipaddress.ip_network(text)
    }


@given(networks, networks)
def test_two_networks_overlap_as_the_standard_library_says(
    one: ipaddress.IPv4Network | ipaddress.IPv6Network,
    other: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> None:
    text = network_text(str(other))
    written = ipaddress.ip_network(text)
    expected = one.version == written.version and one.overlaps(written)
    assert Networks([one]).overlaps(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("2001:DB8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::7/128", "2001:db8:1:2::7/128"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("192.0.2.0/33", ""),
        ("fe80::1%eth0", ""),
        ("7", ""),
        ("", ""),
        ("ann@example.com", ""),
    ],
)
def test_a_network_is_written_in_one_way(text: str, expected: str) -> None:
    assert network_text(text) == expected


@given(st.ip_addresses(v=6))
def test_a_home_of_ipv6_is_in_its_48(address: ipaddress.IPv6Address) -> None:
    if address.ipv4_mapped:
        assert network_key(limit_key(str(address))) == ""
        return
    expected = ipaddress.ip_network((address, 48), strict=False)
    assert ipaddress.ip_network(network_key(limit_key(str(address)))) == expected


@pytest.mark.parametrize("client", ["", "192.0.2.1", "no address", "a:b", "place x"])
def test_what_is_no_home_of_ipv6_has_no_48(client: str) -> None:
    assert network_key(client) == ""
