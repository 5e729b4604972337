from redis.crc import key_slot

from footfall.driver.keys import Keys
from footfall.ids import digest

KEYS = Keys("ff", 16_384)


def test_keys_of_one_page_share_a_slot() -> None:
    names = ("version", "bodies", "newest", "mine", "journal")
    keys = [KEYS.page(digest("/p"), name) for name in names]
    assert len({key_slot(key.encode()) for key in keys}) == 1


def test_keys_of_the_site_share_a_slot() -> None:
    keys = [KEYS.site("recent"), KEYS.site("total"), KEYS.own("bob"), KEYS.by("bob")]
    assert len({key_slot(key.encode()) for key in keys}) == 1


def test_a_path_with_braces_does_not_choose_its_slot() -> None:
    for path in ("}{x}", "{a}", "}", "/{p:x}"):
        assert KEYS.page(digest(path), "bodies").count("{") == 1
        assert KEYS.counts(f"time {path}").count("{") == 1


def test_buckets_of_a_group_share_a_slot_and_groups_spread() -> None:
    keys = [KEYS.counts(f"time /{n}") for n in range(20_000)]
    groups = {KEYS.group_of(key.encode()) for key in keys}
    assert len(groups) == 256
    slots = {KEYS.group_of(key.encode()): key_slot(key.encode()) for key in keys}
    assert all(slots[KEYS.group_of(key.encode())] == key_slot(key.encode()) for key in keys[:500])
    assert len(set(keys)) > 11_000


def test_the_hashes_of_all_groups_are_all_that_there_are() -> None:
    found = [key for group in range(256) for key in KEYS.counts_in(group)]
    assert len(found) == KEYS.hashes
    assert found == list(KEYS.every_counts())


def test_a_digest_is_short_lower_case_and_the_same_everywhere() -> None:
    assert digest("/p") == "l0h317h15faeuacf"
    assert len(digest("/" * 5000)) == 16
    assert digest("a", "b") != digest("ab")


def test_a_page_is_found_again_in_its_key() -> None:
    assert KEYS.page_of(KEYS.page("abc", "path")) == "abc"
