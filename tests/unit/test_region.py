"""Databases are made here: header, 256 × 256 pairs of pointers, texts, then sorted ranges.

The ranges of one vector (the first two bytes of an address) are next to each other, and its pair of
pointers names the first and the last of them.
"""

import re
import struct
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from footfall.render.region import NOWHERE, Region, open_regions

HEADER, VECTORS = 256, 256 * 256 * 8

Ranges = dict[tuple[str, str], str]

IPV4: Ranges = {
    ("1.2.0.0", "1.2.0.255"): "中国|0|浙江省|杭州市|阿里云",
    ("1.2.1.0", "1.2.1.255"): "美国|0|加利福尼亚|0|0",
    ("1.2.2.0", "1.2.2.255"): "澳大利亚|0|0|0|0",
    ("1.2.3.0", "1.2.3.255"): "0|0|0|0|0",
    ("1.3.0.0", "1.3.0.255"): "中国|浙江省|杭州市|阿里云",
    ("1.3.1.0", "1.3.1.255"): "中国|北京|北京|电信|CN",
    ("10.0.0.0", "10.0.255.255"): "0|0|0|内网IP|内网IP",
}
HANGZHOU = Region("浙江省", "浙江省 杭州市 阿里云", "中国")

FOUND = {
    "1.2.0.0": HANGZHOU,
    "1.2.0.255": HANGZHOU,
    "::ffff:1.2.0.7": HANGZHOU,
    "1.2.1.9": Region("加利福尼亚", "加利福尼亚", "美国"),
    "1.2.2.9": Region("澳大利亚", "澳大利亚", "澳大利亚"),
    "1.2.3.9": NOWHERE,
    "1.3.0.9": HANGZHOU,
    "1.3.1.9": Region("北京", "北京 电信", "CN"),
    "10.0.0.1": Region("内网IP", "内网IP"),
    "9.9.9.9": NOWHERE,
    "240e::1": NOWHERE,
    "": NOWHERE,
    "unknown": NOWHERE,
}


def database(ranges: Ranges, *, structure: int = 2, bits: int = 32) -> bytes:
    vectors, texts, index = bytearray(VECTORS), b"", b""
    start = HEADER + VECTORS + sum(len(text.encode()) for text in ranges.values())
    for (low, high), text in ranges.items():
        pointer, entry = HEADER + VECTORS + len(texts), start + len(index)
        ends = [ip_address(end).packed for end in (low, high)]
        _enter(vectors, ends[0], entry)
        # IPv4 addresses are stored with their bytes reversed, IPv6 addresses as they are.
        index += b"".join(end[::-1] if bits == 32 else end for end in ends)
        index += struct.pack("<HI", len(text.encode()), pointer)
        texts += text.encode()
    kind = (4 if bits == 32 else 6, 4) if structure == 3 else (0, 0)
    header = struct.pack("<HHIIIHH", structure, 1, 0, start, start + len(index) - 1, *kind)
    return header.ljust(HEADER, b"\0") + vectors + texts + index


def _enter(vectors: bytearray, address: bytes, entry: int) -> None:
    at = (address[0] * 256 + address[1]) * 8
    first, _ = struct.unpack_from("<II", vectors, at)
    struct.pack_into("<II", vectors, at, first or entry, entry)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "regions.xdb"


@pytest.mark.parametrize(("address", "region"), FOUND.items())
def test_an_address_has_the_region_its_database_says(
    file: Path, address: str, region: Region
) -> None:
    file.write_bytes(database(IPV4))
    assert open_regions(str(file))(address) == region


def test_a_database_for_ipv6_answers_for_ipv6_alone(file: Path) -> None:
    ranges = {("240e::", "240e::ffff"): "中国|浙江省|杭州市|阿里云|CN"}
    file.write_bytes(database(ranges, structure=3, bits=128))
    region = open_regions(str(file))
    hangzhou = replace(HANGZHOU, country="CN")
    assert [region("240e::1"), region("1.2.0.1")] == [hangzhou, NOWHERE]


def test_the_file_is_not_needed_once_it_is_open(file: Path) -> None:
    file.write_bytes(database(IPV4))
    region = open_regions(str(file))
    file.unlink()
    assert region("1.2.0.1") == HANGZHOU


def test_a_missing_file_is_named(file: Path) -> None:
    with pytest.raises(ValueError, match=r"regions\.xdb: No such file or directory"):
        open_regions(str(file))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not an ip2region database, it has only 0 bytes"),
        (b"\0" * (HEADER + VECTORS), "not an ip2region database of structure 2 or 3"),
        (b"\x04" + database(IPV4)[1:], "not an ip2region database of structure 2 or 3"),
        (database(IPV4)[:-20], "cut short, its index ends beyond the file"),
    ],
)
def test_a_file_that_is_no_database_is_named_with_the_reason(
    file: Path, content: bytes, reason: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{file}: {reason}')}$"):
        open_regions(str(file))


def test_a_damaged_entry_has_no_region(file: Path) -> None:
    content = bytearray(database({("1.2.0.0", "1.2.0.255"): "中国|0|浙江省|杭州市|阿里云"}))
    struct.pack_into("<II", content, HEADER + (256 + 2) * 8, 2**31, 2**31)
    file.write_bytes(content)
    assert open_regions(str(file))("1.2.0.1") == NOWHERE
