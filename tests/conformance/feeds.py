"""Compares feeds by what their readers show."""

import xml.etree.ElementTree as xml
from dataclasses import replace
from typing import Any

from .recording import Row, Scenario
from .rules import Counts, Expected, Reader, decision, page_rule

FEED = page_rule(
    "feed",
    "Feeds are compared by what readers show, since servers write XML and dates differently.",
    kind="form",
)
SHOWN = ("title", "description", "link", "guid")


def feed_of(text: str, reader: Reader) -> dict[str, Any]:
    """The channel and its items, with the ids of comments by name."""
    channel = xml.fromstring(text).find("channel")
    assert channel is not None
    return {
        **{name: channel.findtext(name) for name in SHOWN[:3]},
        "items": [_item(each, reader) for each in channel.iter("item")],
    }


def _item(element: xml.Element, reader: Reader) -> dict[str, str]:
    shown = {name: element.findtext(name, "") for name in SHOWN}
    id = shown["guid"]
    name = reader.name("comment", id if reader.is_ours else int(id))
    return shown | {"guid": name, "link": shown["link"].replace(f"#{id}", f"#{name}")}


@decision("feed of a page", "The feed of a page has its title and address.")
def _named(row: Row, so_far: Expected, counts: Counts, scenario: Scenario) -> Expected | None:
    if row.operation != "GET feed":
        return None
    path, site = row.asked("path"), so_far.answer.body["link"]
    title = f"Demo: comments on {path}"
    body = so_far.answer.body | {"title": title, "description": title, "link": site + path}
    return replace(so_far, answer=replace(so_far.answer, body=body))
