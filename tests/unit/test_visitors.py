"""A visitor's number: nobody can make it without the salt, and no two visitors have the same."""

from hashlib import blake2b
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from footfall.statistics.visitors import (
    MAX_AGENT_BYTES,
    MAX_SALT_BYTES,
    agent_part,
    number_of,
    salted,
    sender_of,
)

SALT = bytes(range(32))
AGENT = b"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
ANN = "ff", "192.0.2.1", AGENT

texts = st.text(st.characters(codec="ascii", exclude_characters=":"), max_size=8)
people = st.tuples(texts, texts, st.binary(max_size=8))


def visitor_hash(salt: bytes, site: str, address: str, agent: bytes) -> int:
    return number_of(salted(salt, site), sender_of(address), agent_part(agent))


def test_a_visitor_has_one_number_all_day() -> None:
    first = visitor_hash(SALT, *ANN)
    assert visitor_hash(SALT, *ANN) == first
    assert visitor_hash(SALT, *ANN) == first


def test_the_number_is_a_keyed_hash_of_parts_with_their_lengths() -> None:
    """It must not change between versions during a day, or visitors would count twice."""
    parts = b"2:ff9:192.0.2.1%d:%b" % (len(AGENT), AGENT)
    mac = blake2b(parts, digest_size=8, key=SALT, person=b"visitor").digest()
    assert visitor_hash(SALT, *ANN) == int.from_bytes(mac, signed=True) == -7991369004209847248


def test_nothing_but_the_salt_makes_the_number() -> None:
    """Not any other salt, be it one bit apart, longer by a zero, or none at all."""
    number = visitor_hash(SALT, *ANN)
    flipped = (int.from_bytes(SALT) ^ 1 << bit for bit in range(8 * len(SALT)))
    apart = [each.to_bytes(len(SALT)) for each in flipped]
    others = {visitor_hash(salt, *ANN) for salt in (*apart, SALT + b"\0", SALT[:-1], SALT[1:])}
    parts = b"2:ff9:192.0.2.1%d:%b" % (len(AGENT), AGENT)
    unkeyed = blake2b(parts, digest_size=8, person=b"visitor").digest()
    assert len(others) == 259
    assert number not in {*others, int.from_bytes(unkeyed, signed=True)}


@pytest.mark.parametrize("size", [0, 1, 15, MAX_SALT_BYTES + 1])
def test_a_salt_that_can_be_guessed_or_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        visitor_hash(bytes(size), *ANN)


@given(people, people)
@example(("a", "bc", b"d"), ("ab", "c", b"d"))
@example(("", "a", b""), ("", "", b"a"))
@example(("1:a", "", b""), ("", "1:a", b""))
@example(("a", "", b"0:"), ("a", "0:", b""))
def test_two_visitors_have_two_numbers(
    one: tuple[str, str, bytes], other: tuple[str, str, bytes]
) -> None:
    assert (visitor_hash(SALT, *one) == visitor_hash(SALT, *other)) == (one == other)


@given(st.integers(), st.binary(min_size=16, max_size=64))
def test_a_number_has_64_bits_and_a_sign(number: int, salt: bytes) -> None:
    assert -(2**63) <= visitor_hash(salt, "ff", str(number), AGENT) < 2**63


def test_the_addresses_of_one_home_are_one_visitor() -> None:
    groups = [
        ["2001:db8:0:1::1", "2001:DB8:0:1:ffff:0:0:2", "2001:db8:0:1::1%eth0"],
        ["2001:db8:0:2::1"],
        ["192.0.2.1", "::ffff:192.0.2.1"],
        ["192.0.2.2"],
        [""],
    ]
    numbers = [{visitor_hash(SALT, "ff", each, AGENT) for each in group} for group in groups]
    assert [len(number) for number in numbers] == [1] * 5
    assert all(one.isdisjoint(other) for one, other in combinations(numbers, 2))


def test_what_is_sent_cannot_fill_the_memory_nor_be_refused() -> None:
    long = visitor_hash(SALT, "ff", "x" * 1_000_000, b"y" * 1_000_000)
    assert long == visitor_hash(SALT, "ff", "x" * 1_000, b"y" * MAX_AGENT_BYTES)
    assert visitor_hash(SALT, "ff", "\ud83d\0", b"\xff\0") != long
