"""Which numbers of a batch each of its requests gets."""

from footfall.driver.batch_kinds import ReadBatch

Answers = list[list[int] | Exception]


def test_each_counter_is_read_once_however_many_requests_want_it() -> None:
    batch: ReadBatch[str] = ReadBatch()
    answers: Answers = []
    front = ["time /a", "time /b"]
    for what in (front, ["time /c"], front, ["time /c"], ["time /b", "time /a"]):
        batch.want(what, answers.append)
    assert [*batch.places] == ["time /a", "time /b", "time /c"]
    batch.take([b"1", b"2", None])
    assert answers == [[1, 2], [0], [1, 2], [0], [2, 1]]


def test_a_callback_that_fails_keeps_no_answer_from_the_others() -> None:
    def fail(numbers: object) -> None:
        raise RuntimeError

    batch: ReadBatch[str] = ReadBatch()
    answers: Answers = []
    batch.want(["time /a"], answers.append)
    batch.want(["time /b"], fail)
    batch.want(["time /c"], answers.append)
    batch.take([b"1", b"2", b"3"])
    assert answers == [[1], [3]]
    batch.answer()
    assert len(answers) == 2, "nobody is answered twice"
