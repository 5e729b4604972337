"""Sends one message by Apprise, for push.py: in its own process, so that it can be killed.

Apprise sends in threads that cannot be stopped, and reads unlimited answers. The process gets [URL,
title, body] as JSON on its standard input, since arguments are visible to other users, and exits
with 1 and Apprise's error if the message was rejected.
"""

import resource
import sys

import orjson

# For the library itself and a service's answer.
MAX_MEMORY_BYTES = 512 << 20
MAX_SAID_CHARACTERS = 1000


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    url, title, body = orjson.loads(sys.stdin.buffer.read())
    import apprise

    service = apprise.Apprise()
    service.add(url)
    with apprise.LogCapture(level=apprise.logging.WARNING, fmt="%(message)s") as said:  # type: ignore[no-untyped-call]
        if service.notify(body=body, title=title):
            return 0
        answer = " ".join(said.getvalue().split())
    print(answer[:MAX_SAID_CHARACTERS])
    return 1


if __name__ == "__main__":
    sys.exit(main())
