"""A header that is looked for in the bytes of a request, without a parser."""

import pytest

from footfall.http.head import all_headers, first_header

LINE = b"POST /api/article HTTP/1.1\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"Host: a\r\nAccept-Language: de, en\r\nX: y",
        b"accept-language:de",
        b"ACCEPT-LANGUAGE: \t de \t\r\nAccept-Language: fr",
        b"X-Accept-Language: fr\r\nAccept-Language2: fr\r\naccept-language: de",
        b"X: accept-language: fr\r\naccept-language: de",
        b"accept-language:\r\nhost: a",
        b"host: a",
    ],
)
@pytest.mark.parametrize("body", [b"", b"\r\naccept-language: fr\r\n\r\n"])
def test_it_is_the_one_that_the_parser_finds(head: bytes, body: bytes) -> None:
    received = LINE + head + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    parsed = [v for name, v in all_headers(received, 0) if name.lower() == b"accept-language"]
    assert first_header(received, b"accept-language") == (
        parsed[0].strip(b" \t") if parsed else b""
    )
