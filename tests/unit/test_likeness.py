"""Which comments are alike."""

import random
from typing import Any

from footfall.comments.rules.likeness import MAX_GROUPS, MAX_SAMPLES, Trait, groups_of
from footfall.model import Comment

OWN = {"blog.example"}


def comment(n: int, text: str = "", **fields: Any) -> Comment:
    # Without words, texts have nothing in common.
    return Comment(f"{n:03}", "/p", n, fields.pop("html", ""), text, **fields)


def link(host: str) -> str:
    return f'<p><a href="https://{host}/x">here</a></p>'


def grouped(*comments: Comment) -> list[tuple[str, str, list[int]]]:
    return [
        (group.trait.kind, group.trait.value, [*group.members])
        for group in groups_of(comments, OWN)
    ]


def test_comments_are_alike_by_author_host_of_links_and_address() -> None:
    assert grouped(
        comment(0, mail="Ann@example.com "),
        comment(1, mail="ann@example.com"),
        comment(2, address="192.0.2.1"),
        comment(3, address="192.0.2.1"),
        comment(4, address="2001:db8:1:2::3"),
        comment(5, address="2001:db8:1:ffff::9"),
        comment(6, html=link("www.shop.example")),
        comment(7, link="http://SHOP.example:80/y"),
        comment(8, account="1"),
        comment(9, account="1"),
    ) == [
        ("account", "1", [8, 9]),
        ("mail", "ann@example.com", [0, 1]),
        ("host", "shop.example", [6, 7]),
        ("address", "192.0.2.1", [2, 3]),
        ("address", "2001:db8:1::/48", [4, 5]),
    ]


def test_an_email_that_was_typed_joins_no_comments_of_its_account() -> None:
    ann = {"mail": "ann@example.com"}
    typed = [comment(n, **ann) for n in range(2)]
    assert grouped(*typed, *(comment(n, account="1", **ann) for n in range(2, 5))) == [
        ("account", "1", [2, 3, 4]),
        ("mail", "ann@example.com", [0, 1]),
    ]


def test_what_says_nothing_makes_no_group() -> None:
    # The neighbour's address, the site's own host, a proxy before all of them, no words.
    assert not grouped(comment(0, address="192.0.2.1"), comment(1, address="192.0.2.2"))
    assert not grouped(comment(0, html=link("blog.example")), comment(1, html=link("blog.example")))
    assert not grouped(*(comment(n, address="10.0.0.1") for n in range(9)))
    assert not grouped(comment(0, "https://a.example"), comment(1, "!!!"), comment(2))
    assert not grouped()


def test_a_comment_is_in_the_largest_group_that_it_can_be_in_and_not_in_two() -> None:
    homes = ["192.0.2.2", "192.0.2.1", "192.0.2.3", "192.0.2.1", "192.0.2.4", "192.0.2.1"]
    shop = [comment(n, html=link("shop.example"), address=each) for n, each in enumerate(homes)]
    more = [comment(n, address="192.0.2.1") for n in range(6, 10)]
    assert grouped(*shop, *more) == [
        ("address", "192.0.2.1", [1, 3, 5, 6, 7, 8, 9]),
        ("host", "shop.example", [0, 2, 4]),
    ]


def spun(words: list[str], share: float, chance: random.Random) -> str:
    """The same text, with a share of its words replaced, as senders of spam do it."""
    return " ".join(
        word if chance.random() > share else f"other{chance.random()}" for word in words
    )


def test_nearly_the_same_text_is_found_among_others() -> None:
    chance = random.Random(1)
    vocabulary = [f"{a}{b}" for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(chance.choices(vocabulary, k=3)) for _ in range(600)]
    wave = chance.choices(words, k=25)
    texts = [spun(wave, 0.1, chance) for _ in range(40)]
    texts += [" ".join(chance.choices(words, k=30)) for _ in range(200)]
    (group,) = grouped(*(comment(n, text) for n, text in enumerate(texts)))
    assert group[0] == "text"
    assert len(group[2]) >= 36
    assert max(group[2]) < 40


def test_text_without_spaces_is_compared_by_its_characters() -> None:
    chance = random.Random(1)
    characters = [chr(0x4E00 + n) for n in range(500)]
    wave = chance.choices(characters, k=40)
    texts = ["".join(c if chance.random() > 0.1 else "好" for c in wave) for _ in range(20)]
    texts += ["".join(chance.choices(characters, k=40)) for _ in range(100)]
    group, *_ = grouped(*(comment(n, text) for n, text in enumerate(texts)))
    assert len(group[2]) >= 17
    assert max(group[2]) < 20


def test_case_marks_and_links_do_not_make_texts_differ() -> None:
    texts = ["Nice post!!! https://a.example/1", "nice, post", "NICE POST http://b.example"]
    assert grouped(*(comment(n, text) for n, text in enumerate(texts))) == [
        ("text", "0", [0, 1, 2])
    ]


def test_samples_are_the_usual_one_and_those_that_stand_out() -> None:
    wave = [comment(n, "buy it here", html=link("shop.example"), mail="a@b.c") for n in range(9)]
    good = comment(9, "I bought mine there and it broke", html=link("shop.example"))
    (group,) = groups_of([*wave, good], OWN)
    assert (group.trait, len(group.members)) == (Trait("host", "shop.example"), 10)
    assert (group.samples[0] < 9, group.samples[1], len(group.samples)) == (True, 9, MAX_SAMPLES)


def test_there_are_so_many_groups_at_most() -> None:
    pairs = [comment(n, mail=f"{n // 2}@example.com") for n in range(300)]
    assert len(groups_of(pairs, OWN)) == MAX_GROUPS
