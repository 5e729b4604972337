from footfall.ids import IdGenerator, created_ms, digest, is_id, split

NOW = 1_700_000_000_000


def test_ids_sort_by_age_even_within_a_millisecond() -> None:
    generator = IdGenerator()
    ids = [generator.new(NOW + n // 100, "/p") for n in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000


def test_ids_rise_when_the_clock_steps_back() -> None:
    generator = IdGenerator()
    ids = [generator.new(now, "/p") for now in (NOW, NOW - 5000, NOW - 10_000, NOW + 1)]
    assert ids == sorted(ids)


def test_an_id_says_when_and_on_which_page_it_was_made() -> None:
    id = IdGenerator().new(NOW, "/p")
    assert is_id(id)
    assert created_ms(id) == NOW
    assert split(id)[1] == digest("/p")


def test_a_text_that_is_no_id_is_recognised() -> None:
    assert not any(map(is_id, ("", "1", "w" * 32, "A" * 32, "0" * 31, "0" * 33, "é" * 32)))
