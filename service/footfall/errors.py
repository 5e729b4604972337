"""All errors that a client may get, as one tree; table/endpoint.py and table/fast_cycle.py catch
them. docs/api.md describes when each occurs.

Errors by the site's rules have HTTP status 200 and an errno, because all published clients read
errno and none reads the status.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType


class ServiceError(Exception):
    """A failure whose message readers of the site may see."""

    status = 500
    errno = 500
    text = "Internal Server Error"
    # Whether a response contains it.
    has_words = True
    # The limit that has refused this (telemetry.metrics.LIMITS), "" if it is none of an address.
    limit = ""

    def __init_subclass__(cls, status: int = 0, errno: int = 0) -> None:
        """`errno` is the status where it is not named, and both are those above where none is."""
        if status:
            cls.status, cls.errno = status, errno or status

    @classmethod
    def below(cls) -> Iterator[type["ServiceError"]]:
        """All errors below this one in the tree, each before those below it."""
        for child in cls.__subclasses__():
            yield child
            yield from child.below()

    def __init__(self, text: str | None = None) -> None:
        super().__init__(text or self.text)
        if text is not None:
            self.text = text
        self.errmsg: str | Mapping[str, str] = self.text

    # Of the names in braces in `text`: numbers, durations, and texts that are translated, too.
    values: Mapping[str, object] = MappingProxyType({})

    @property
    def headers(self) -> Mapping[str, str]:
        return {}


class _Waits(Exception):
    """With the time to wait, among its values and in Retry-After."""

    values: Mapping[str, object]
    limit: str

    def __init__(self, wait_ms: int, text: str | None = None, limit: str = "") -> None:
        super().__init__(text)
        self.wait_ms, self.limit = wait_ms, limit or self.limit
        self.values = {"wait": timedelta(milliseconds=wait_ms)}

    @property
    def headers(self) -> Mapping[str, str]:
        return {"retry-after": str(-(-self.wait_ms // 1000))}


class BadRequest(ServiceError, status=200, errno=1001):
    """`fields` maps the name of each invalid field to its problem."""

    text = "Bad Request"

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.errmsg = self.fields = dict(fields)


class Unreadable(ServiceError, status=400):
    text = "Incorrect parameter format"


class UnsupportedMediaType(ServiceError, status=415):
    text = (
        "send application/json, application/x-www-form-urlencoded or multipart/form-data "
        "as Content-Type"
    )


class TooSlow(ServiceError, status=408):
    text = "Request Timeout"


class TooLong(ServiceError, status=431):
    text = "Request Header Fields Too Large"


class LoggedOut(ServiceError, status=200, errno=401):
    """Waline's answer when two-factor authentication is set up without a login."""

    text = ""


class Unauthorized(ServiceError, status=401):
    text = "Unauthorized"


class Forbidden(ServiceError, status=403):
    text = "Forbidden"


class CommentsElsewhere(Forbidden):
    text = "Comments can no longer be sent with this form"


class CaptchaFailed(Forbidden):
    text = "Captcha failed. Reload the page and try again."
    limit = "captchas"


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
    """From this address: changes of counters, or counters that are new."""

    text = "Too Many Requests"
    limit = "COUNTER_RATE"


class TooManyAtOnce(TooMany):
    """Nothing was stored. Other clients are not rejected."""

    text = "Too many of your requests are in progress. Wait a moment and try again."
    limit = ""


class Refused(ServiceError, status=200, errno=1000):
    text = "Refused"


class NotOver(Refused):
    text = "This action is still running"


class Changed(Refused):
    """A comment is not what the caller has seen any longer, so nothing was done."""

    text = "This comment has changed since you read it"


class FieldTooLong(Refused):
    """`field` is the name of the parameter, `limit` is in characters."""

    FIELDS = MappingProxyType(
        {
            "nick": "Your name",
            "mail": "Your email address",
            "link": "The address of your website",
            "url": "The address of this page",
            "ua": "Your browser's user agent",
            "at": "The name you are replying to",
        }
    )
    text = "Your comment is too long (maximum {limit} characters)"

    def __init__(self, field: str, limit: int) -> None:
        text = "{field} is too long (maximum {limit} characters)"
        super().__init__(None if field == "comment" else text)
        self.values = {"field": self.FIELDS.get(field, field), "limit": limit}


class TooFast(_Waits, Refused):
    # It starts with Waline's own words, which are the same in every language.
    text = "Comment too fast! Try again {wait}."
    limit = "IPQPS"


class TooMuchWritten(_Waits, Refused):
    text = "Too much was written from your address today. Try again {wait}."
    limit = "COMMENT_LIMIT"


class CommentsFull(Refused):
    text = "This site has no room for more comments. Please tell its owner."


class NoRoom(Refused):
    text = "Counter limit reached; this path is not counted"


class Duplicate(Refused):
    # It starts with Waline's own words, in every language.
    text = "Duplicate Content: you have already sent this; it may be awaiting approval"


class NoSuchParent(Refused):
    text = "The comment you are replying to does not exist"


class Denied(Refused):
    """Without a reason: clients show their own text."""

    text = ""
    has_words = False


class TooManyAttempts(_Waits, Refused):
    """To log in, from this address or to this account."""

    text = "Too many attempts: try again {wait}"
    limit = "attempts"


class UserExists(Refused):
    # Waline's English text, which its clients search for.
    text = "USER_EXIST"


class IdentityTaken(Refused):
    text = (
        "This login belongs to another account. "
        "Use that account, or remove the login from it first."
    )


class RegistrationClosed(Refused):
    text = "Registration is closed. Ask the site owner for an account."


class WrongSetupCode(Refused):
    """Who wants to be the first administrator does not know SETUP_CODE."""

    text = "The first account becomes the administrator. Enter the setup code."


class Banned(Refused):
    """`until` is when the ban ends, in words; "" for never."""

    text = "You can no longer write here"
    limit = "bans"

    def __init__(self, until: str) -> None:
        super().__init__("You cannot write here until {until}" if until else None)
        self.values = {"until": until}


class CommentsClosed(Refused):
    text = "Comments on this page are closed"


class TooManyClosings(Refused):
    text = "Too many pages have a rule of their own. Close all pages after some days instead."


class TooManyBans(Refused):
    text = "The limit of {number} bans is reached. Remove some, or ban a network."

    def __init__(self, number: int) -> None:
        super().__init__()
        self.values = {"number": number}


class WrongCode(Refused):
    """It is not the one that an authenticator shows now."""

    text = "TWO_FACTOR_AUTH_ERROR_DETAIL"


class WrongPassword(Refused):
    """The password is not that of the account whose email is to be confirmed."""

    text = "Wrong password"


class PasswordRequired(Refused):
    text = "Enter your current password as well (current_password)"


class WrongCurrentPassword(Refused):
    text = "Wrong current password (current_password). If you just changed it, enter the new one."


class CodeRequired(Refused):
    text = "Enter a two-factor code as well (current_code)"


class LogInRequired(Refused):
    text = "Log in again through the login service first. That is valid for ten minutes."


class LinkExpired(Refused):
    """A link that works once was used, or is too old."""

    text = "TOKEN_EXPIRED"


class FlowExpired(Refused):
    text = "This login expired or was started in another browser. Start again."


class NotProven(Refused):
    text = "The login service did not identify you. Start again."


class LastWayIn(Refused):
    text = "Set a password first. Otherwise you could no longer log in."


class LastAdministrator(Refused):
    text = "This is the last administrator. Make somebody else administrator first."


class Unavailable(ServiceError, status=503):
    """Not now; Retry-After gives the time."""

    text = "Service Unavailable"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"retry-after": "1"}


class StoreUnavailable(Unavailable):
    """Redis was unreachable or too slow. A write may have happened or not; it is never resent."""


class ProviderUnavailable(Unavailable):
    text = "The login service is not responding. Try again in a few minutes, or log in another way."


class CaptchaUnavailable(Unavailable):
    text = "The captcha cannot be checked at the moment. Try again in a few minutes."


class Busy(Unavailable):
    """A pool that all share is full; nothing was stored."""
