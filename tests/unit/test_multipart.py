"""Forms are parsed by http/multipart.py as long as Starlette's parser lacks two of its bounds."""

from collections.abc import AsyncGenerator

import pytest
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartParser

from footfall.errors import Unreadable
from footfall.http.multipart import parse_multipart

TYPE = "multipart/form-data; boundary=B"
PART = b'--B\r\ncontent-disposition: form-data; name="%b"\r\n\r\n%b\r\n'
WHOLE = PART % (b"comment", b"hello") + PART % (b"mail", b"ann@example.com") + b"--B--\r\n"


async def by_starlette(raw: bytes) -> FormData:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield raw

    return await MultiPartParser(Headers({"content-type": TYPE}), pieces(), max_files=0).parse()


def ours(raw: bytes) -> dict[str, str]:
    return parse_multipart(TYPE.encode(), raw)


async def test_both_read_a_whole_form_alike() -> None:
    assert ours(WHOLE) == {"comment": "hello", "mail": "ann@example.com"}
    assert dict(await by_starlette(WHOLE)) == ours(WHOLE)


async def test_a_form_that_is_cut_off_is_refused_and_starlette_takes_a_part_of_it() -> None:
    cut_off = WHOLE[: WHOLE.index(b"example.com")]
    with pytest.raises(Unreadable, match="ends before its last boundary"):
        ours(cut_off)
    assert dict(await by_starlette(cut_off)) == {"comment": "hello"}


async def test_text_that_is_not_utf8_is_marked_and_starlette_takes_it_for_latin_1() -> None:
    other = PART % (b"comment", "é".encode("latin-1")) + b"--B--"
    assert ours(other) == {"comment": "\N{REPLACEMENT CHARACTER}"}
    assert dict(await by_starlette(other)) == {"comment": "é"}
