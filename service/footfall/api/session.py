"""Who is logged in: clients ask once a page load, and an empty object says nobody."""

from ..domain.service import Service
from ..http.params import RawRequest
from ..model import Caller


def parse(asked: RawRequest, service: Service) -> None:
    """The token came in a header; there is nothing else to read."""


async def show(service: Service, asked: None, caller: Caller) -> object:
    account = caller.viewer.account
    if account is None:
        return {}
    return {
        "objectId": account.id,
        "email": account.mail,
        "display_name": account.nick,
        "url": account.link,
        "type": account.role,
        "label": account.label,
        "avatar": account.avatar
        or service.display.avatar(account.nick, account.mail, account.link),
    }
