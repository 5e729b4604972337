"""The data in the pictures of the administrators' pages, which `tests.browser.pictures` takes."""

from typing import Any

import httpx
from playwright.sync_api import Page, expect

# Nick, address, page, text, and how many minutes ago. Each waits for approval.
WAITING = (
    (
        "Ottilie",
        "192.0.2.14",
        "/notes/tea",
        "Second flush, three minutes, *never* boiling. I will not be taking questions.",
        2,
    ),
    (
        "Best Prices",
        "203.0.113.77",
        "/notes/tea",
        "Great post! Visit [our shop](https://cheap.example) for **cheap** teapots, 90 % off!!!",
        4,
    ),
    (
        "Kofi",
        "198.51.100.23",
        "/notes/counters",
        "The numbers on the fridge convinced me. Do you count visits of feed readers, too?",
        7,
    ),
    (
        "Ingrid",
        "192.0.2.201",
        "/about",
        "There is a typo in the second paragraph: `recieve`. Otherwise perfect, as always.",
        11,
    ),
    (
        "Rafael",
        "198.51.100.96",
        "/notes/counters",
        "> no tracker at all\n\nSold. Moving my blog this weekend.",
        16,
    ),
    (
        "Maëlle",
        "203.0.113.5",
        "/notes/tea",
        "Et l'oolong ? C'est tout ce que j'ai à la maison.",
        21,
    ),
)


def fill(http: httpx.Client, clock: Any, owner: str) -> None:
    for nick, address, path, words, minutes in reversed(WAITING):
        clock.set(minutes / 60)
        mail = f"{nick.lower().replace(' ', '.').replace('ë', 'e')}@example.com"
        draft = {"comment": words, "url": path, "nick": nick, "mail": mail}
        headers = {"x-forwarded-for": address}
        stored = http.post("/api/comment", json=draft, headers=headers).json()["data"]
        url = f"/api/comment/{stored['objectId']}"
        headers = {"authorization": f"Bearer {owner}"}
        http.put(url, json={"status": "waiting"}, headers=headers).raise_for_status()
    clock.set(0)


def open_queue(page: Page, server: str, owner: str) -> None:
    page.context.add_cookies([{"name": "footfall", "value": owner, "url": f"{server}/ui/"}])
    page.goto(f"{server}/ui/queue")
    expect(page.locator("#queue > li")).to_have_count(len(WAITING))
