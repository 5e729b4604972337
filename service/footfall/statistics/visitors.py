"""A visitor's number, which is the same all day, and another one tomorrow.

It is a keyed hash of the request's details of its sender. The key is the day's salt, which is
random and deleted after the day: then the number of an address cannot be recovered, nor which
numbers of two days are one visitor's. With the salt, one can try addresses: it must not be logged
or backed up.
"""

from hashlib import blake2b

from ..netaddr import limit_key

# The first because 128 bits cannot be guessed, the second because BLAKE2b takes no longer key.
MIN_SALT_BYTES, MAX_SALT_BYTES = 16, 64
# Later visitors are not distinguished.
MAX_AGENT_BYTES = 512
MAX_ADDRESS_CHARACTERS = 64
# So that no other hash with this salt, of whatever, is taken for a visitor's.
_PURPOSE = b"visitor"


def salted(salt: bytes, site: str) -> "blake2b":
    """The hash's state for all visitors of a day. Raises ValueError for a salt that is too short or
    too long."""
    if len(salt) < MIN_SALT_BYTES:
        raise ValueError(f"a salt has at least {MIN_SALT_BYTES} bytes")
    name = site.encode()
    return blake2b(b"%d:%b" % (len(name), name), digest_size=8, key=salt, person=_PURPOSE)


def sender_of(address: str) -> str:
    """One home has an IPv6 /64, so its addresses are one."""
    return limit_key(address[:MAX_ADDRESS_CHARACTERS])


def agent_part(user_agent: bytes) -> bytes:
    """What of a browser goes into its visitor's number."""
    agent = user_agent[:MAX_AGENT_BYTES]
    return b"%d:%b" % (len(agent), agent)


def number_of(salted: "blake2b", sender: str, agent: bytes) -> int:
    """From -2**63 to 2**63 - 1: Redis stores small sets of such numbers in eight bytes each.
    `agent` is an agent_part."""
    name, hashed = sender.encode(errors="replace"), salted.copy()
    # Each part after its length, so that no other parts give the same.
    hashed.update(b"%d:%b%b" % (len(name), name, agent))
    return int.from_bytes(hashed.digest(), signed=True)
