"""Names that people take for each other look the same to us, too."""

import pytest

from footfall.markup import look_of

ALIKE = [
    "adm1n",
    "ADMIN",
    "AdmIn",
    "\u0430dmin",
    "\u0430d\u043c\u0456n",
    "adrnin",
    "\xe1dmin",
    "\uff41\uff44\uff4d\uff49\uff4e",
    "\U0001d41a\U0001d41d\U0001d426\U0001d422\U0001d427",
    "a d m i n",
    "ad\u200bmin",
]


@pytest.mark.parametrize("name", ALIKE)
def test_a_name_that_is_taken_for_another_looks_like_it(name: str) -> None:
    assert look_of(name) == look_of("admin")


@pytest.mark.parametrize("name", ["admins", "adam", "", "\u7ba1\u7406\u5458"])
def test_other_names_do_not(name: str) -> None:
    assert look_of(name) != look_of("admin")


def test_names_of_other_scripts_look_like_themselves() -> None:
    assert look_of("\u7ad9\u957f") == look_of(" \u7ad9\u957f") != look_of("\u7ad9\u70b9")
