"""What is stored, as the banner says it."""

import pytest

from footfall.store.size import Kind, Size

NONE = Kind(0, 0)


@pytest.mark.parametrize(
    ("counters", "comments", "words"),
    [
        (NONE, NONE, "nothing yet"),
        (Kind(3, 101.4), NONE, "3 counters, about 101 bytes each"),
        (Kind(3, 0), NONE, "3 counters"),
        (NONE, Kind(2, 1812.5), "2 comments, about 1,812 bytes each"),
        (
            Kind(1_204_331, 46.2),
            Kind(3_127, 812),
            "1,204,331 counters, about 46 bytes each; 3,127 comments, about 812 bytes each",
        ),
    ],
)
def test_the_banner_is_as_exact_as_what_is_known(
    counters: Kind, comments: Kind, words: str
) -> None:
    assert str(Size(counters, comments)) == words
