"""The script in place of busuanzi's and Vercount's: every theme's elements, one request for a view,
and never a broken page; and busuanzi's own published script."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect

from footfall.owner.files import UI
from tests.support.servers import free_port, wait_until
from tests.support.serving import Serving, started

from .blog import Blog
from .conftest import NewVisitor, Start
from .packages import busuanzi
from .test_counter import PERSON, views
from .visitor import Sent, Visitor

SCRIPT = "/busuanzi/2.3/busuanzi.pure.mini.js"
NAMES = ("site_pv", "site_uv", "page_pv", "page_uv")
FAMILIES = ("busuanzi_value_", "busuanzi_", "vercount_value_", "mine_")


@pytest.fixture(scope="module")
def service(blog: Blog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("busuanzi")
    with started(Serving(home, COMPAT="busuanzi", STATISTICS="visitors")) as one:
        yield one


@pytest.fixture
def reader(new_visitor: NewVisitor) -> Visitor:
    """A person, whom a browser's name does not give away as a program."""
    return new_visitor(user_agent=PERSON["User-Agent"])


def tag(server: str, attributes: str = "async", path: str = SCRIPT) -> str:
    return f'<script {attributes} src="{server}{path}"></script>'


def elements(*families: str) -> str:
    """As themes have them, with containers that are hidden until numbers are there."""
    values = "".join(f'<b id="{family}{name}">-</b>' for family in families for name in NAMES)
    boxes = "".join(
        f'<p id="{family}_container_{name}" style="display: none">{name}</p>'
        for family in ("busuanzi", "vercount")
        for name in NAMES
    )
    return values + boxes


def expect_numbers(visitor: Visitor, family: str, *numbers: str) -> None:
    for name, number in zip(NAMES, numbers, strict=True):
        expect(visitor.page.locator(f"#{family}{name}")).to_have_text(number)


def expect_containers(visitor: Visitor, *shown: str) -> None:
    for family in ("busuanzi", "vercount"):
        for name in NAMES:
            box = visitor.page.locator(f"#{family}_container_{name}")
            expect(box).to_be_visible(visible=name in shown)


def calls(visitor: Visitor, service: Serving) -> list[Sent]:
    """All requests to the service except for the scripts themselves."""
    return [each for each in visitor.asked(service.url) if not each.path.endswith(SCRIPT)]


def visitors_today(service: Serving) -> int:
    code, output = service.output_of("statistics", "--days", "1", "--csv")
    return int(output.split(",")[-1]) if code == 0 else 0


def test_a_view_is_one_request_without_a_preflight_and_fills_all_families(
    blog: Blog, start: Start, reader: Visitor, path: str
) -> None:
    service = start(COMPAT="busuanzi", STATISTICS="visitors")
    # The reader is the first of these two visitors.
    for headers in (PERSON, {"User-Agent": PERSON["User-Agent"] + " Other/1.0"}):
        httpx.post(f"{service.url}/api/article", json={"path": "/other"}, headers=headers)
    # Of the site, they are noted behind their views.
    wait_until(lambda: visitors_today(service) == 2, "two visitors")
    script = tag(service.url, 'async data-prefix="mine"')
    reader.open(blog.publish(path, elements(*FAMILIES), script) + "?q=1#end")
    for family in FAMILIES:
        expect_numbers(reader, family, "3", "2", "1", "1")
    expect_containers(reader, *NAMES)
    reader.come_to_rest()
    assert calls(reader, service) == [Sent("POST", f"{service.url}/api/v2/log")]
    assert views(service, path) == 1


@pytest.mark.parametrize("at", [SCRIPT, "/js", "/js/lite", "/js/lite_pjax", "/js/jsonp"])
def test_it_is_at_every_path_that_themes_have(
    blog: Blog, service: Serving, reader: Visitor, path: str, at: str
) -> None:
    script = tag(service.url, "async", at)
    reader.open(blog.publish(path, elements("vercount_value_"), script))
    expect(reader.page.locator("#vercount_value_page_pv")).to_have_text("1")


@pytest.mark.rare
@pytest.mark.parametrize("api", ["{url}", "{url}/", "{url}/api"])
def test_the_service_may_be_another_than_the_scripts(
    blog: Blog, service: Serving, start: Start, reader: Visitor, path: str, api: str
) -> None:
    """soxft's script has its whole address there."""
    other = start(COMPAT="busuanzi")
    script = tag(service.url, f'async data-api="{api.format(url=other.url)}"')
    reader.open(blog.publish(path, elements("busuanzi_"), script))
    expect(reader.page.locator("#busuanzi_page_pv")).to_have_text("1")
    assert (views(service, path), views(other, path)) == (0, 1)


def test_a_page_outside_ascii_is_the_same_as_walines(
    blog: Blog, service: Serving, reader: Visitor, path: str
) -> None:
    path = f"{path}/文章 più/"
    httpx.post(f"{service.url}/api/article", json={"path": path})
    reader.open(blog.publish(path, elements("busuanzi_value_"), tag(service.url)))
    expect(reader.page.locator("#busuanzi_value_page_pv")).to_have_text("2")


def test_loaded_twice_it_counts_once(
    blog: Blog, service: Serving, reader: Visitor, path: str
) -> None:
    both = tag(service.url) + tag(service.url, "", "/js")
    reader.open(blog.publish(path, elements("busuanzi_value_") + both, tag(service.url)))
    expect(reader.page.locator("#busuanzi_value_page_pv")).to_have_text("1")
    reader.come_to_rest()
    assert views(service, path) == 1


# What pjax does: another page's elements, and its address.
GO = """([path, html, then]) => {
    history.pushState({}, '', path)
    document.querySelector('main').innerHTML = html
    eval(then)
}"""
COMPLETE = "document.dispatchEvent(new Event('pjax:complete'))"
# Themes run scripts again that have data-pjax.
AGAIN = """for (const old of document.querySelectorAll('script[data-pjax]')) {
    const script = document.createElement('script')
    for (const each of old.attributes) script.setAttribute(each.name, each.value)
    old.replaceWith(script)
}"""


@pytest.mark.rare
@pytest.mark.parametrize(
    ("attributes", "then"),
    [
        ("async", COMPLETE),
        ("async pjax", ""),
        ("async pjax", COMPLETE),
        ("async data-pjax", AGAIN),
        ("async data-pjax", AGAIN + COMPLETE),
    ],
)
def test_pages_that_pjax_loads_are_counted_each_time_they_are_read(
    blog: Blog, service: Serving, reader: Visitor, path: str, attributes: str, then: str
) -> None:
    html, other = elements("busuanzi_value_", "busuanzi_"), f"{path}/other"
    reader.open(blog.publish(path, f"<main>{html}</main>{tag(service.url, attributes)}"))
    number = reader.page.locator("#busuanzi_value_page_pv")
    expect(number).to_have_text("1")
    for to, expected in ((other, "1"), (path, "2"), (other, "2")):
        reader.page.evaluate(GO, [to, html, then])
        expect(number).to_have_text(expected)
    expect_containers(reader, *NAMES)
    reader.come_to_rest()
    assert (views(service, path), views(service, other)) == (2, 2)


def test_going_back_is_a_view_where_pages_are_loaded_by_pjax(
    blog: Blog, service: Serving, reader: Visitor, path: str
) -> None:
    html = elements("busuanzi_value_")
    reader.open(blog.publish(path, f"<main>{html}</main>{tag(service.url, 'pjax')}"))
    number = reader.page.locator("#busuanzi_value_page_pv")
    expect(number).to_have_text("1")
    reader.page.evaluate(GO, [f"{path}/other", html, ""])
    expect(number).to_have_text("1")
    reader.page.evaluate("history.back()")
    expect(number).to_have_text("2")


def test_themes_that_call_busuanzis_functions_get_numbers_and_count_no_view_twice(
    blog: Blog, service: Serving, reader: Visitor, path: str
) -> None:
    reader.open(blog.publish(path, elements("busuanzi_value_") + tag(service.url, "")))
    reader.page.evaluate(
        """bszCaller.fetch('//busuanzi.ibruce.info/busuanzi?jsonpCallback=BusuanziCallback', n => {
            bszTag.hides()
            bszTag.texts(n)
            bszTag.shows()
            window.got = n
        })"""
    )
    reader.page.wait_for_function("window.got")
    assert reader.page.evaluate("got.page_pv") == 1
    assert reader.page.evaluate("bszTag.bszs") == [*NAMES]
    expect_containers(reader, *NAMES)
    assert views(service, path) == 1


@pytest.mark.rare
@pytest.mark.parametrize("kept", ["off", "views"])
def test_what_is_not_kept_is_not_shown(
    blog: Blog, start: Start, reader: Visitor, path: str, kept: str
) -> None:
    service = start(COMPAT="busuanzi", STATISTICS=kept)
    httpx.post(f"{service.url}/api/article", json={"path": "/other"})
    reader.open(blog.publish(path, elements("busuanzi_value_"), tag(service.url)))
    expect_numbers(reader, "busuanzi_value_", "2", "-", "1", "-")
    expect_containers(reader, "site_pv", "page_pv")


@pytest.mark.rare
def test_a_page_whose_counter_is_away_is_whole(blog: Blog, visitor: Visitor, path: str) -> None:
    visitor.forgive("ERR_CONNECTION_REFUSED")
    away = f'data-api="http://127.0.0.1:{free_port()}"'
    after = "<script>window.went = 'on'</script>"
    body = f"{elements('busuanzi_value_')}{after}".replace("display: none", "display: inline")
    visitor.open(blog.publish(path, body, _inline(away)))
    visitor.come_to_rest()
    expect_numbers(visitor, "busuanzi_value_", "-", "-", "-", "-")
    expect_containers(visitor)
    assert visitor.page.evaluate("window.went") == "on"


def _inline(attributes: str) -> str:
    """Without an address of its own."""
    return f"<script {attributes}>{(UI / 'busuanzi.js').read_text()}</script>"


@pytest.mark.rare
@pytest.mark.parametrize(
    "answer", ["null", "<html>", '{"data": null}', '{"data": ["<b>"]}', '{"data": {"page_pv": {}}}']
)
def test_an_answer_without_numbers_leaves_the_words_and_hides_containers(
    blog: Blog, service: Serving, visitor: Visitor, path: str, answer: str
) -> None:
    """There may be anything between page and service."""
    say = f"<script>fetch = async () => new Response({answer!r})</script>"
    visitor.open(blog.publish(path, elements("busuanzi_value_") + tag(service.url, ""), say))
    visitor.come_to_rest()
    expect_numbers(visitor, "busuanzi_value_", "-", "-", "-", "-")
    expect_containers(visitor)


def test_an_owner_whom_count_js_leaves_out_reads_and_does_not_count(
    blog: Blog, service: Serving, visitor: Visitor, path: str
) -> None:
    visitor.context.add_init_script("localStorage.footfall = 'ex'")
    httpx.post(f"{service.url}/api/article", json={"path": path})
    visitor.open(blog.publish(path, elements("busuanzi_value_"), tag(service.url)))
    expect(visitor.page.locator("#busuanzi_value_page_pv")).to_have_text("1")
    assert views(service, path) == 1


# busuanzi's own script, as npm has it: a module, which a page must declare.

MODULE = "<script>var module = {}</script>"
WHOLE = '<meta name="referrer" content="no-referrer-when-downgrade">'


def published(service: Serving) -> str:
    return f"{MODULE}<script>{busuanzi(service.url)}</script>"


def test_the_published_script_counts_each_view_of_a_page_whose_address_it_may_send(
    blog: Blog, start: Start, reader: Visitor, path: str
) -> None:
    service = start(COMPAT="busuanzi", STATISTICS="visitors")
    url = blog.publish(path, elements("busuanzi_value_") + published(service), WHOLE)
    for number in ("1", "2"):
        reader.open(url)
        expect(reader.page.locator("#busuanzi_value_page_pv")).to_have_text(number)
        expect(reader.page.locator("#busuanzi_container_page_pv")).to_be_visible()
        assert views(service, path) == int(number)
    expect(reader.page.locator("#busuanzi_value_site_uv")).to_have_text("1")


@pytest.mark.rare
def test_a_referer_that_is_cut_to_the_origin_is_the_front_page(
    blog: Blog, start: Start, reader: Visitor, path: str
) -> None:
    """As browsers send it unless a page says otherwise. The service's own script needs none."""
    service = start(COMPAT="busuanzi")
    reader.open(blog.publish(path, elements("busuanzi_value_") + published(service)))
    expect(reader.page.locator("#busuanzi_value_page_pv")).to_have_text("1")
    assert (views(service, path), views(service, "/")) == (0, 1)
    reader.open(blog.publish(path, elements("busuanzi_value_") + tag(service.url)))
    expect(reader.page.locator("#busuanzi_value_page_pv")).to_have_text("1")
    assert (views(service, path), views(service, "/")) == (1, 1)
