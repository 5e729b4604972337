"""Sends one message by Apprise, for push.py: in a process of its own, so that it can be ended.

Apprise sends in threads that nobody can stop, and reads all that a service answers. It gets
[URL, title, body] as JSON on its standard input, since arguments can be seen by other users, and
ends with 1 and Apprise's words if the message was not taken.
"""

import resource
import sys

import orjson

# For the library itself and what a service answers.
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
