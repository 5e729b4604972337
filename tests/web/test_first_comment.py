"""The first comment loads the renderer, which delays only that comment."""

import time

import pytest

from footfall.process import renderer
from footfall.process.renderer import RenderedText
from tests.conftest import Sites


@pytest.fixture
def slow_press(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is rendered take longer than a request may."""

    def make(*_: object) -> RenderedText:
        until = time.perf_counter() + 0.2
        while time.perf_counter() < until:
            pass
        return RenderedText("<p>slow</p>", "", "", False)

    monkeypatch.setattr(renderer, "_make", make)


async def test_the_first_comment_is_not_logged_as_slow_and_the_second_is(
    make_site: Sites, slow_press: None, caplog: pytest.LogCaptureFixture
) -> None:
    site = await make_site(SLOW_SECONDS="0.1")
    await site.post("the first")
    assert not [line for line in caplog.messages if line.startswith("comment_post took")]
    await site.post("the second")
    assert [line for line in caplog.messages if line.startswith("comment_post took")]


async def test_a_request_before_the_first_comment_is_logged_as_slow(make_site: Sites) -> None:
    site = await make_site()
    before = time.perf_counter()
    assert not site.service.process.renderer.was_loading(before)
    await site.post("words")
    assert site.service.process.renderer.was_loading(before)
    assert not site.service.process.renderer.was_loading(time.perf_counter())
