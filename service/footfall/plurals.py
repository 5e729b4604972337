"""Numbers with their nouns, in English, for commands, logs and findings."""


def number_of(number: float, one: str, many: str = "") -> str:
    """`1 comment`, `1,234 comments`; `many` is for nouns whose plural is not made by an s."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {one if number == 1 else many or one + 's'}"
