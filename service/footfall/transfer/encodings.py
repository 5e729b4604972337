"""The encoding that a file may have if it is not UTF-8, for people to decide.

Only encodings in which comments are exported: of China, Taiwan, Japan and Korea, Windows' Western
and Cyrillic ones, and KOI8-R. Other single-byte encodings look Western: a line is shown with each
suggestion, which tells.
"""

import codecs
import re
from collections.abc import Callable, Iterable

from ..plurals import number_of

# Gives the share of a text's characters, or bytes, that are usual in its encoding, up to about 1.
Usual = Callable[[bytes, str], float]

# Letters that stand alone or in pairs between those of ASCII, and the marks of word processors.
_WESTERN = re.compile(
    rb"(?<![\x80-\xff])[\x80\x85\x91-\x97\xab\xb0\xbb\xdf-\xff]{1,2}(?![\x80-\xff])"
)
_HIGH = re.compile(rb"[\x80-\xff]")


def _western(written: bytes, text: str) -> float:
    return sum(map(len, _WESTERN.findall(written))) / len(_HIGH.findall(written))


def _letters(expression: str, weight: float = 1) -> Usual:
    """`weight` makes up for what else such texts consist of."""
    found = re.compile(expression)

    def usual(written: bytes, text: str) -> float:
        return weight * len(found.findall(text)) / max(sum(each > "\x7f" for each in text), 1)

    return usual


def _first_level(encoding: str, leads: range, least_trail: int) -> Usual:
    """GB 2312 and Big5 list the usual characters first; a misread text has the others, too."""

    def usual(written: bytes, text: str) -> float:
        pairs = [each.encode(encoding) for each in text if each > "\x7f"]
        level = [each for each in pairs if each[0] in leads and each[-1] >= least_trail]
        return len(level) / max(len(pairs), 1)

    return usual


_USUAL: dict[str, Usual] = {
    "cp1252": _western,
    # Kana are in each Japanese sentence; characters alone could be any of the others.
    "shift_jis": _letters("[\u3001-\u30ff]", 2.2),
    "euc_jp": _letters("[\u3001-\u30ff]", 2.2),
    "euc_kr": _letters("[\uac00-\ud7a3]", 1.2),
    "gb18030": _first_level("gb18030", range(0xA1, 0xD8), 0xA1),
    "big5": _first_level("big5", range(0xA1, 0xC7), 0x40),
    # Capitals are rare, which tells these two from each other.
    "cp1251": _letters("[\u0430-\u044f]"),
    "koi8_r": _letters("[\u0430-\u044f]"),
}
LEAST_SHARE = 0.5
# Characters between words. Those outside ASCII are the only sign of a file's encoding.
_BETWEEN = re.compile(rb'["\n\t,:<> ]')
# This many bytes of them are enough to detect it, and this few are not.
MAX_SAMPLE_BYTES, MIN_GUESSED_BYTES = 1 << 14, 4
# Of the line that is shown with a suggestion.
MAX_SHOWN_CHARACTERS = 100
# How Python writes a byte that is not UTF-8.
_BAD = re.compile("[\udc80-\udcff]")


def advice(chunks: Iterable[bytes]) -> str:
    """What to do about a file that is not UTF-8."""
    offset, line, good, bad, place, first, sample = 0, 1, 0, 0, "", b"", b""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in chunks:
        text = decoder.decode(chunk)
        match = _BAD.search(text)
        if match and not place:
            before, after = text[: match.start()], text[match.start() :]
            at = offset + len(_raw(before))
            place = f"byte {at:,} in line {line + before.count(chr(10)):,}"
            first = _raw(before.rpartition("\n")[2] + after.partition("\n")[0])
        here = len(_BAD.findall(text))
        bad, good = bad + here, good + len(text) - len(text.encode("ascii", "ignore")) - here
        offset += len(_raw(text))
        line += text.count("\n")
        if len(sample) < MAX_SAMPLE_BYTES:
            # The first and the last word may be cut.
            words = _BETWEEN.split(chunk)[1:-1]
            sample += b"".join(word + b"\n" for word in words if not word.isascii())
    if good > bad:
        return (
            f"it is UTF-8 but for {number_of(bad, 'byte')}, the first {place}: name utf-8 as its "
            "encoding, and these become \ufffd"
        )
    not_utf8 = f"it is not UTF-8, first at {place}: name its encoding"
    encoding = guess(sample) if sample and bad >= MIN_GUESSED_BYTES else ""
    if not encoding:
        return not_utf8
    read = first.decode(encoding, "replace").strip()[:MAX_SHOWN_CHARACTERS]
    return f"{not_utf8}. With {encoding} that is: {read}"


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def guess(sample: bytes) -> str:
    """The likeliest encoding of these words, of which each has a byte outside ASCII; "" if none
    fits."""
    shares = {name: _share(name, sample) for name in _USUAL}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= LEAST_SHARE else ""


def _share(encoding: str, sample: bytes) -> float:
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0
    return _USUAL[encoding](sample, text)
