"""The names of counters: `<type> <path>`, such as `time /a` for the views of /a."""

VIEWS = "time"

_PREFIX = f"{VIEWS} "


def view_counter(path: str) -> str:
    return f"{VIEWS} {path}"


def is_view_counter(name: str) -> bool:
    return name.startswith(_PREFIX)


def viewed_page(name: str) -> str:
    """The page whose views this counts."""
    return name.removeprefix(_PREFIX)
