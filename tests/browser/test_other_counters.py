"""Clients of GoatCounter, Abacus, CountAPI and badges in a browser, on a page of another origin."""

import json

import httpx
import pytest
from playwright.sync_api import expect

from footfall.model import NO_VIEWS
from tests.support.npm import CACHE, unpacked
from tests.support.servers import wait_until
from tests.support.serving import Serving

from .blog import Blog
from .conftest import Start
from .visitor import Visitor

COUNTAPI = "countapi-js@1.0.2"
COUNTAPI_SHA256 = "21d08a1878530ce842af12aceb66941b05db231667c113a0dee945fca37f20df"
# The service that it was published for, which has gone.
COUNTAPI_HOST = "https://api.countapi.xyz"


@pytest.fixture
def counter(start: Start) -> Serving:
    return start(COMPAT="goatcounter,abacus,badges")


def views(service: Serving, path: str) -> int:
    """Its count; what is not a page is of another type."""
    type = "time" if path.startswith("/") else NO_VIEWS
    asked = {"path": path, "type": type}
    count: int = httpx.get(f"{service.url}/article", params=asked).json()
    return count


def countapi(server: str) -> str:
    """The published module as a script, of a copy that asks this server."""
    source = unpacked(COUNTAPI, COUNTAPI_SHA256, CACHE / "countapi-js-1.0.2") / "lib/index.js"
    text = source.read_text()
    assert text.count(COUNTAPI_HOST) == 1
    module = text.replace(COUNTAPI_HOST, server)
    return (
        "<script>window.countapi = (() => { const module = { exports: {} }\n"
        "const require = name => window.fetch.bind(window)\n"
        f"{module}\nreturn module.exports }})()</script>"
    )


def test_countapis_module_counts_and_reads(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    for refusal in ("404 (Not Found)", "405 (Method Not Allowed)"):
        visitor.forgive(refusal)
    visitor.open(blog.publish(path, "a page", countapi(counter.url)))
    run = visitor.page.evaluate
    for number in (1, 2):
        assert run("countapi.hit('site.example', 'likes')")["value"] == number
    assert run("countapi.get('site.example', 'likes')")["value"] == 2
    missing = run("countapi.get('site.example', 'none')")
    assert (missing["status"], missing["value"]) == (404, None)
    assert run("countapi.info('site.example', 'likes')")["value"] == 2
    refused = run("countapi.set('site.example', 'likes', 9).catch(error => error)")
    assert refused == "Response from server: 405"
    assert views(counter, "site.example/likes") == 2


@pytest.mark.rare
def test_countapis_module_counts_the_page_that_asks(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    # Without this, browsers say no more of the page than its host.
    whole = '<meta name="referrer" content="no-referrer-when-downgrade">'
    path = f"{path}/你"
    visitor.open(blog.publish(path, "a page", whole + countapi(counter.url)))
    assert visitor.page.evaluate("countapi.visits()")["value"] == 1
    assert views(counter, f"127.0.0.1{path}") == 1
    assert visitor.page.evaluate("countapi.event('likes')")["value"] == 1
    assert views(counter, "127.0.0.1/likes") == 1


def test_a_script_tag_gets_its_number_by_a_callback(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    shown = (
        "<script>cb = found => { document.querySelector('b').textContent = found.value }</script>"
    )
    tag = f'<script src="{counter.url}/hit/site.example/visits?callback=cb"></script>'
    visitor.open(blog.publish(path, f"<b></b>{shown}{tag}"))
    expect(visitor.page.locator("b")).to_have_text("1")


def test_pictures_are_shown_and_count(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    addresses = (
        f"/badge{path}.svg?label=%E8%AE%BF%E9%97%AE&style=for-the-badge",
        "/hit/site.example/seen/shield",
        f"/git.example{path}.svg",
        f"/api/count/incr/badge.svg?url={path}",
        "/ghpvc/?username=bob&style=plastic",
        f"/counter{path}.svg",
        f"/count?p={path}",
    )
    body = "".join(f'<img src="{counter.url}{address}">' for address in addresses)
    visitor.open(blog.publish(path, body))
    visitor.come_to_rest()
    pictures = visitor.page.locator("img")
    for number in range(len(addresses)):
        width = pictures.nth(number).evaluate("each => each.complete && each.naturalWidth")
        assert width > 0, addresses[number]
    # The badge, the address and the pixel.
    assert views(counter, path) == 3
    assert views(counter, "site.example/seen") == 1
    assert views(counter, "ghpvc/bob") == 0


@pytest.mark.rare
def test_a_beacon_counts_and_another_page_reads_the_number(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    """What GoatCounter's script sends when a page is left, and what themes ask for."""
    path = f"{path}/你"
    report = (
        f"navigator.sendBeacon('{counter.url}/count?p=' + encodeURIComponent(location.pathname)"
        " + '&t=Title&s=800%2C600%2C1&b=0&rnd=abcde')"
    )
    visitor.open(blog.publish(path, f"<script>{report}</script>"))
    wait_until(lambda: views(counter, path) == 1, "the view to be counted")
    ask = (
        f"fetch('{counter.url}/counter/' + encodeURIComponent(location.pathname) + '.json')"
        ".then(answer => answer.json()).then(found => found.count)"
    )
    assert visitor.page.evaluate(ask) == "1"
    visitor.forgive("404 (Not Found)")
    missing = f"fetch('{counter.url}/counter/none.json').then(answer => answer.status)"
    assert visitor.page.evaluate(missing) == 404


def goatcounter(service: Serving, script: str = "", **settings: object) -> str:
    """Its script tag, whose address alone is another; `script` runs in front of it."""
    told = json.dumps({"allow_local": True, **settings})
    return (
        f'<script>{script}</script><script data-goatcounter="{service.url}/count" '
        f"data-goatcounter-settings='{told}' async src=\"{service.url}/count.js\"></script>"
    )


def test_goatcounters_script_counts_a_view_and_shows_it(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    body = '<b data-footfall-views></b><button data-goatcounter-click="press">go</button>'
    visitor.open(f"{blog.publish(path, body + goatcounter(counter))}?utm_source=a")
    wait_until(lambda: views(counter, path) == 1, "the view to be counted")
    visitor.come_to_rest()
    visitor.page.locator("button").click()
    sent = [each.url for each in visitor.asked(counter.url) if "/count?" in each.url]
    assert ["e=true" in each for each in sent] == [False, True]
    assert "p=press" in sent[1]
    # An event is not a view, and neither is the number that count.js shows.
    assert (views(counter, path), views(counter, "press")) == (1, 0)


@pytest.mark.rare
def test_goatcounters_script_does_what_pages_ask_of_it(
    blog: Blog, counter: Serving, visitor: Visitor, path: str
) -> None:
    told = "window.goatcounter = { no_onload: true, path: usual => usual + 'more' }"
    body = '<link rel="canonical" href="/other/"><p id="numbers"></p>'
    visitor.open(blog.publish(path, body + goatcounter(counter, told)))
    run = visitor.page.evaluate
    run("goatcounter.count()")
    run("goatcounter.count({ path: '/own' })")
    wait_until(lambda: views(counter, "/own") == 1, "the view to be counted")
    assert (views(counter, "/other/more"), views(counter, path)) == (1, 0)
    assert run("goatcounter.url({ path: () => null })") is None
    for type, shown in (("html", "iframe"), ("svg", "img")):
        run(f"goatcounter.visit_count({{ append: '#numbers', type: '{type}', path: '/own' }})")
        expect(visitor.page.locator(f"#numbers {shown}").last).to_be_visible()
    number = visitor.page.frame_locator("#numbers iframe").locator("body")
    expect(number).to_contain_text("1")
    run("localStorage.skipgc = 't'")
    visitor.forgive("not counting because of")
    run("goatcounter.count({ path: '/own' })")
    assert run("goatcounter.filter()") == "disabled with #toggle-goatcounter"
    assert views(counter, "/own") == 1
