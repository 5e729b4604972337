"""Who is logged in: clients ask once a page load; an empty object means nobody."""

from ..domain.service import Service
from ..http.params import RawRequest
from ..model import Caller


def parse(request: RawRequest, service: Service) -> None:
    """Nothing to parse: the token is in a header, which the endpoint reads."""


async def show(service: Service, parsed: None, caller: Caller) -> object:
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
