"""What a page of another site can make its reader's browser send, in a browser that reports the
request's origin."""

import httpx
import pytest
from playwright.sync_api import expect

from .blog import Blog
from .conftest import Start
from .visitor import Visitor

MARA = {"display_name": "Mara", "email": "mara@example.com", "password": "an old garden gate"}


@pytest.mark.rare
def test_a_page_of_pictures_and_forms_takes_no_log_in_of_its_reader(
    start: Start, blog: Blog, path: str, visitor: Visitor
) -> None:
    service = start()
    httpx.post(f"{service.url}/api/user", json=MARA).raise_for_status()
    question = f"{service.url}/api/token/2fa?email={MARA['email']}"
    pictures = "".join(f'<img src="{question}&n={n}">' for n in range(80))
    wrong = f'<input name="email" value="{MARA["email"]}"><input name="password" value="a guess">'
    forms = "".join(
        f'<iframe name="f{n}"></iframe>'
        f'<form method="post" action="{service.url}/api/token" target="f{n}">{wrong}</form>'
        for n in range(25)
    )
    script = "<script>for (const form of document.forms) form.submit();</script>"
    visitor.forgive("403")
    visitor.forgive("ERR_BLOCKED_BY_ORB")
    visitor.forgive("X-Frame-Options")
    visitor.open(blog.publish(path, pictures + forms + script))
    visitor.come_to_rest()
    asked = visitor.asked(service.url)
    assert sum(each.path == "/api/token/2fa" for each in asked) == 80
    assert sum(each.path == "/api/token" for each in asked) == 25
    page = visitor.page
    visitor.open(f"{service.url}/ui/login?next=profile")
    page.get_by_label("Email").fill(MARA["email"])
    page.get_by_label("Password").fill(MARA["password"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text(MARA["email"])).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in visitor.context.cookies()}
    assert cookies.keys() == {"footfall", "footfall-device"}
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies.values())
