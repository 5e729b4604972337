"""Pictures and avatars of comments, by the settings of a site."""

from tests.conftest import Sites

EMOJI = '<img class="wl-emoji" src="//unpkg.com/@waline/emojis/agree.png" alt="agree">'


async def test_a_clients_emoji_stays_as_it_was_written(make_site: Sites) -> None:
    site = await make_site()
    posted = await site.post(f"yes {EMOJI} :)")
    assert posted["comment"] == f"<p>yes {EMOJI} 😃</p>\n"


async def test_a_proxy_shows_pictures_of_other_sites(make_site: Sites) -> None:
    site = await make_site(IMAGE_PROXY="https://proxy.example/image/")
    posted = await site.post("![a](http://a.example/b.png) ![c](/d.png)")
    assert posted["comment"] == (
        '<p><img src="https://proxy.example/image/?url=http%3A%2F%2Fa.example%2Fb.png" alt="a"> '
        '<img src="/d.png" alt="c"></p>\n'
    )


async def test_a_site_may_have_no_pictures(make_site: Sites) -> None:
    site = await make_site(DISABLE_IMAGES="true", GRAVATAR_STR="none")
    posted = await site.post(f"yes {EMOJI}")
    assert posted["comment"] == '<p>yes <img class="wl-emoji" alt="agree"></p>\n'
    assert posted["avatar"] == ""


async def test_avatars_may_come_through_a_proxy_or_by_qq_number(make_site: Sites) -> None:
    site = await make_site(AVATAR_PROXY="https://proxy.example/")
    posted = await site.post("words", nick="10001")
    assert posted["avatar"] == (
        "https://proxy.example/?url=https%3A%2F%2Fq1.qlogo.cn%2Fg%3Fb%3Dqq%26nk%3D10001%26s%3D100"
    )
