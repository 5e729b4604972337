"""Numbers with their nouns, in English, as commands, logs and findings say them."""


def count(number: int, one: str, many: str = "") -> str:
    """`1 comment`, `1,234 comments`; `many` is for nouns whose plural is not made by an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
