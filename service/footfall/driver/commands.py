"""Commands as they are sent to Redis."""

# A command in RESP, as `pack` makes it.
Command = bytes


def pack(*arguments: object) -> Command:
    """A command in RESP, of words that are text, bytes or integers."""
    return b"*%d\r\n%b" % (len(arguments), b"".join(map(pack_word, arguments)))


def pack_word(word: object) -> bytes:
    if not isinstance(word, bytes):
        # Text that cannot be encoded was rejected before; if not, it must not break a whole batch.
        word = str(word).encode(errors="replace")
    return b"$%d\r\n%b\r\n" % (len(word), word)
