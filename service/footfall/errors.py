"""All errors that a client may get, as one tree; api/endpoint.py and api/hot_cycle.py catch them.

    ServiceError             when                                          HTTP   errno
    ├── BadRequest           a parameter is missing, malformed, too long    200    1001
    ├── Unreadable           the body is broken or too large                400    400
    ├── UnsupportedMediaType a body of a kind that is not read              415    415
    ├── TooSlow              the body took longer than anybody waits        408    408
    ├── TooLong              the URL is longer than any real one            431    431
    ├── LoggedOut            nobody is logged in, or not any more           200    401
    ├── Unauthorized         no token, or a bad one, where one is needed    401    401
    ├── Forbidden            known, but not allowed                         403    403
    │   └── CaptchaFailed    nothing proves that somebody is no robot
    ├── NotFound             there is no such route                         404    404
    ├── WrongMethod          the route has no such method                   405    405
    ├── TooMany              this address counts too fast, or too much new  429    429
    │   └── TooManyAtOnce    this client has too much waiting to be rendered
    ├── Refused              the rules say no, and the reader is told why   200    1000
    │   ├── FieldTooLong     a comment, a name, an address is longer than it may be
    │   ├── TooFast          this address posted a moment ago
    │   ├── NoRoom           there are as many counters as there may be
    │   ├── Duplicate        the same words from the same author, but not sent again just now
    │   ├── NoSuchParent     a reply to a comment that is not there
    │   ├── Denied           the same, but nobody is told why
    │   ├── TooManyAttempts  to log in, from this address or to this account
    │   ├── UserExists       there is an account with this mail
    │   ├── IdentityTaken    what another service knows somebody by is another account's
    │   ├── RegistrationClosed nobody makes an account but administrators
    │   ├── WrongSetupCode   who wants to be the first administrator does not know SETUP_CODE
    │   ├── Banned           this address, mail or account may not write
    │   ├── TooManyBans      there are as many as there may be
    │   ├── WrongCode        not the one that an authenticator shows now
    │   ├── WrongPassword    not the one of the account whose mail is to be confirmed
    │   ├── PasswordRequired a log-in alone may not change this: the password says whose it is
    │   ├── WrongCurrentPassword that is not the one that the account has now
    │   ├── CodeRequired     the same, where the account has a second factor
    │   ├── LogInRequired    the same, where only another service says who somebody is
    │   ├── LinkExpired      a link that works once was used, or is too old
    │   ├── FlowExpired      a log-in by another service was begun elsewhere, or is over
    │   ├── NotProven        another service did not say who somebody is
    │   ├── LastWayIn        without it nobody could log in to the account
    │   └── LastAdministrator  there would be none left
    └── Unavailable          not now; Retry-After says when                 503    503
        ├── StoreUnavailable Redis did not answer in time
        ├── ProviderUnavailable another service, by which one logs in, did not
        └── Busy             more is being rendered than can be

Refusals by the site's rules have HTTP status 200 and an errno, because all published clients read
errno and none reads the status.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType


class ServiceError(Exception):
    """A failure whose message readers of the site may see."""

    status = 500
    errno = 500
    text = "Internal Server Error"
    # Whether an answer says it.
    has_words = True

    def __init_subclass__(cls, status: int = 0, errno: int = 0) -> None:
        """`errno` is the status where it is not named, and both are those above where none is."""
        if status:
            cls.status, cls.errno = status, errno or status

    def __init__(self, text: str | None = None) -> None:
        super().__init__(text or self.text)
        if text is not None:
            self.text = text
        self.errmsg: str | Mapping[str, str] = self.text

    # The values of the names in braces in `text`: numbers, durations, and texts that are translated
    # like `text` itself.
    values: Mapping[str, object] = MappingProxyType({})

    @property
    def headers(self) -> Mapping[str, str]:
        return {}


class _Waits(Exception):
    """With how long to wait, among its values and in Retry-After."""

    values: Mapping[str, object]

    def __init__(self, wait_ms: int, text: str | None = None) -> None:
        super().__init__(text)
        self.wait_ms = wait_ms
        self.values = {"wait": timedelta(milliseconds=wait_ms)}

    @property
    def headers(self) -> Mapping[str, str]:
        return {"retry-after": str(-(-self.wait_ms // 1000))}


class BadRequest(ServiceError, status=200, errno=1001):
    """`fields` maps the name of each wrong field to what is wrong with it."""

    text = "Bad Request"

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.errmsg = self.fields = dict(fields)


class Unreadable(ServiceError, status=400):
    text = "Incorrect parameter format"


class UnsupportedMediaType(ServiceError, status=415):
    """The message says what to send instead."""

    text = (
        "send application/json, application/x-www-form-urlencoded or multipart/form-data "
        "as Content-Type"
    )


class TooSlow(ServiceError, status=408):
    text = "Request Timeout"


class TooLong(ServiceError, status=431):
    text = "Request Header Fields Too Large"


class LoggedOut(ServiceError, status=200, errno=401):
    """What the reference says where a log-in is set up."""

    text = ""


class Unauthorized(ServiceError, status=401):
    text = "Unauthorized"


class Forbidden(ServiceError, status=403):
    text = "Forbidden"


class CaptchaFailed(Forbidden):
    text = "It could not be proved that you are no robot: reload the page and try again"


class NotFound(ServiceError, status=404):
    text = "Not Found"


class WrongMethod(ServiceError, status=405):
    """`allowed` is the value of the header Allow: the methods that the route has."""

    text = "Method Not Allowed"

    def __init__(self, allowed: str, text: str | None = None) -> None:
        super().__init__(text)
        self.allowed = allowed

    @property
    def headers(self) -> Mapping[str, str]:
        return {"allow": self.allowed}


class TooMany(_Waits, ServiceError, status=429):
    text = "Too Many Requests"


class TooManyAtOnce(TooMany):
    """Nothing was stored. Others are not refused."""

    text = "Too much of yours is being worked on just now: wait a moment and try again"


class Refused(ServiceError, status=200, errno=1000):
    text = "Refused"


class FieldTooLong(Refused):
    """`field` is the name of the parameter, `limit` is in characters."""

    FIELDS = MappingProxyType(
        {
            "nick": "Your name",
            "mail": "Your mail address",
            "link": "The address of your website",
            "url": "The address of this page",
            "ua": "What your browser calls itself",
            "at": "The name of whom you reply to",
        }
    )
    text = "Your comment is too long: it may have {limit} characters"

    def __init__(self, field: str, limit: int) -> None:
        text = "{field} is too long: it may have {limit} characters"
        super().__init__(None if field == "comment" else text)
        self.values = {"field": self.FIELDS.get(field, field), "limit": limit}


class TooFast(_Waits, Refused):
    # It begins with the reference server's own words, which are the same in every language.
    text = "Comment too fast! Try again {wait}."


class NoRoom(Refused):
    text = "There are as many counters as there may be; this path is not counted"


class Duplicate(Refused):
    # It begins with the reference server's own words, in every language.
    text = "Duplicate Content: you have sent this before, and it may be waiting for approval"


class NoSuchParent(Refused):
    text = "The comment that this one replies to is not there"


class Denied(Refused):
    """Clients are told no reason: their own words for it are what a reader sees."""

    text = ""
    has_words = False


class TooManyAttempts(_Waits, Refused):
    text = "Too many attempts: try again {wait}"


class UserExists(Refused):
    # What the reference says in English, and its clients look for.
    text = "USER_EXIST"


class IdentityTaken(Refused):
    text = (
        "This log-in belongs to another account here: use that account, "
        "or remove the log-in from it first"
    )


class RegistrationClosed(Refused):
    text = "Nobody can register here: ask the owner of this site for an account"


class WrongSetupCode(Refused):
    text = (
        "The first account is the administrator's: "
        "enter the setup code that the owner of this site has set"
    )


class Banned(Refused):
    """`until` is when the ban ends, in words; "" for never."""

    text = "You can not write here any more"

    def __init__(self, until: str) -> None:
        super().__init__("You can not write here until {until}" if until else None)
        self.values = {"until": until}


class TooManyBans(Refused):
    text = "There are {number} bans, and there may be no more: remove some, or ban a network"

    def __init__(self, number: int) -> None:
        super().__init__()
        self.values = {"number": number}


class WrongCode(Refused):
    text = "TWO_FACTOR_AUTH_ERROR_DETAIL"


class WrongPassword(Refused):
    text = "This is not the password that was chosen for this account"


class PasswordRequired(Refused):
    text = "To change this, enter your present password as well (current_password)"


class WrongCurrentPassword(Refused):
    text = "This is not your present password (current_password); if you just set one, enter that"


class CodeRequired(Refused):
    text = "To change this, enter a code of your second factor as well (current_code)"


class LogInRequired(Refused):
    text = "To change this, log in again by the other service: that counts for ten minutes"


class LinkExpired(Refused):
    text = "TOKEN_EXPIRED"


class FlowExpired(Refused):
    text = "This log-in was begun elsewhere, or too long ago: begin again"


class NotProven(Refused):
    text = "The other service did not say who you are: begin again"


class LastWayIn(Refused):
    text = "Set a password first: you could not log in any more"


class LastAdministrator(Refused):
    text = (
        "There has to be an administrator, and this is the last one: make somebody else one first"
    )


class Unavailable(ServiceError, status=503):
    text = "Service Unavailable"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"retry-after": "1"}


class StoreUnavailable(Unavailable):
    """Redis was away or too slow. A write may have happened or not; it is never sent again."""


class ProviderUnavailable(Unavailable):
    text = (
        "The service to log in with does not answer: "
        "try again in a few minutes, or log in in another way"
    )


class Busy(Unavailable):
    """Too many comments wait to be rendered, or passwords to be hashed; nothing was stored."""
