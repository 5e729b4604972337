"""The region of an IP address, by an ip2region database in memory.

A database is for IPv4 or for IPv6, never for both: an address of the other kind has no region. The
columns differ between versions; see `_levels`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from ip2region import util
from ip2region.searcher import Searcher, new_with_buffer


@dataclass(frozen=True)
class Region:
    # The public sees the province; administrators see the city and the provider, too.
    public: str
    full: str
    # Two letters if the database has them, else a name; "" if it is unknown.
    country: str = ""


NOWHERE = Region("", "")

_SMALLEST = util.HeaderInfoLength + util.VectorIndexLength
_STRUCTURES = (util.XdbStructure20, util.XdbStructure30)
_COUNTRY_CODE = re.compile(r"[A-Z]{2}")


def open_regions(path: str) -> Callable[[str], Region]:
    """A function from address to region. Raises ValueError for a file that cannot be used."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    version = _version(path, content)
    searcher = new_with_buffer(version, content)
    return lambda address: _region(searcher, version, address)


def _version(path: str, content: bytes) -> util.Version:
    if len(content) < _SMALLEST:
        raise ValueError(f"{path}: not an ip2region database, it has only {len(content)} bytes")
    header = util.Header(content)
    version = util.version_from_header(header)
    if header.version not in _STRUCTURES or version is None:
        raise ValueError(f"{path}: not an ip2region database of structure 2 or 3")
    if max(header.startIndexPtr, header.endIndexPtr) >= len(content):
        raise ValueError(f"{path}: cut short, its index ends beyond the file")
    return version


def _region(searcher: Searcher, version: util.Version, address: str) -> Region:
    packed = _packed(address)
    if len(packed) != version.byte_num:
        return NOWHERE
    try:
        match = searcher.search(packed)
    # An entry is damaged: the comment is stored without a region.
    except (IndexError, UnicodeDecodeError):
        return NOWHERE
    levels = _levels(match)
    return Region(levels[0], " ".join(levels), _country(match)) if levels else NOWHERE


def _packed(address: str) -> bytes:
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return b""
    # A dual-stack socket shows IPv4 addresses as mapped ones.
    return (getattr(parsed, "ipv4_mapped", None) or parsed).packed


def _country(row: str) -> str:
    name, *_, last = row.split("|")
    if _COUNTRY_CODE.fullmatch(last):
        return last
    return "" if name == "0" else name


def _levels(row: str) -> list[str]:
    """Province, city, provider, each once; the country if nothing else is known.

    Columns: country|area|province|city|provider until structure 3, then
    country|province|city|provider, later with a country code at the end. "0" means unknown.
    """
    country, *rest = row.split("|")
    if len(rest) == 4:
        rest = rest[:3] if _COUNTRY_CODE.fullmatch(rest[3]) else rest[1:]
    unknown = ("", "0")
    levels = list(dict.fromkeys(name for name in rest if name not in unknown))
    return levels if levels or country in unknown else [country]
