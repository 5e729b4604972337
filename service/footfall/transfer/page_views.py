"""Which requests of an access log are views of pages, and why the others are not.

A view is a GET that was answered with a page: with 200 or 304, at a path that is not a page's file,
a feed or an address for programs. The logs of most servers do not have the response's content type;
if one does, it must be HTML. The client does not matter here: crawlers view pages, too, and
statistics distinguish them.
"""

import re
from collections import Counter
from collections.abc import Iterator

from ..hosts import host_name
from ..http.params import MAX_PATH
from ..markup import is_safe_url
from .access_log import LogRow, read
from .source import Source

# Files of pages, and downloads.
_PICTURES = "avif bmp gif ico jpeg jpg png svg svgz tif tiff webp"
_PARTS = "css eot js map mjs otf ttf wasm webmanifest woff woff2"
_MEDIA = "aac avi flac m4a m4v mkv mov mp3 mp4 mpeg ogg ogv opus wav webm"
_ARCHIVES = "7z apk bin br bz2 deb dmg exe gz iso jar msi rar rpm tar tgz xz zip zst"
_FILES = "csv doc docx epub ics odp ods odt pdf ppt pptx rtf xls xlsx"
_TEXTS = "cer crt json jsonl key log pem sql txt vcf yaml yml"
ASSETS = frozenset(
    extension
    for group in (_PICTURES, _PARTS, _MEDIA, _ARCHIVES, _FILES, _TEXTS)
    for extension in group.split()
)
FEEDS = frozenset({"atom", "rdf", "rss", "xml"})
# Last words of a path that are feeds, as in /blog/feed/.
FEED_NAMES = frozenset({"atom", "feed", "rss"})
# First parts of paths that programs request.
_PREFIXES = ".well-known _next _nuxt api cdn-cgi graphql"
_PROBED = "health healthz livez metrics ping readyz"
_WORDPRESS = "wp-admin wp-content wp-includes wp-json wp-login.php xmlrpc.php"
PROGRAMS = frozenset(" ".join((_PREFIXES, _PROBED, _WORDPRESS)).split())
TYPES = frozenset({"text/html", "application/xhtml+xml"})
STATUSES = frozenset({200, 304})

# Reasons why a request is not a view, in the order of the checks.
NO_HTTP = "is not an HTTP request"
NO_GET = "is not a GET"
NO_ANSWER = "was not answered with 200 or 304"
NO_PATH = "names no page"
PROGRAM = "is at a path for programs"
FEED = "is a feed"
ASSET = "is a file of a page, or a download"
NO_HTML = "is not HTML"
OTHER_HOST = "is at another host"
EXCLUSIONS = (NO_HTTP, NO_GET, NO_ANSWER, OTHER_HOST, NO_PATH, PROGRAM, FEED, ASSET, NO_HTML)

_PORT = re.compile(r":\d{0,5}\Z", re.ASCII)


# Of each reason.
MAX_SAMPLES = 3
# A path, as it is shown to users.
MAX_SAMPLE_CHARACTERS = 200


class ViewReport:
    """The result for the lines of a log: `views`, and the numbers of the others by reason.

    `unreadable` and `excluded` have the reasons of lines that cannot be read, and of requests that
    are not views. `places` has the files and lines where each reason first occurred, `samples` the
    first paths by the reason why they are not views; those of views are at "".
    """

    def __init__(self) -> None:
        self.views = 0
        self.unreadable = Counter[str]()
        self.excluded = Counter[str]()
        self.places: dict[str, list[str]] = {}
        self.samples: dict[str, list[str]] = {}

    def refuse(self, why: str, place: str) -> None:
        self.unreadable[why] += 1
        places = self.places.setdefault(why, [])
        if len(places) < MAX_SAMPLES:
            places.append(place)

    def note(self, why: str, path: str) -> None:
        """`why` is "" for a view."""
        if why:
            self.excluded[why] += 1
        else:
            self.views += 1
        samples, shown = self.samples.setdefault(why, []), path[:MAX_SAMPLE_CHARACTERS]
        if len(samples) < MAX_SAMPLES and shown and shown not in samples:
            samples.append(shown)


def page_views(
    source: Source, own: frozenset[str], report: ViewReport
) -> Iterator[tuple[int, LogRow]]:
    """The views in a file of a log, with the numbers of their lines. If the log has the requested
    host, it must be one of the site's `own`, if these are known. Raises Damaged, OSError."""
    for number, row in read(source):
        if isinstance(row, str):
            report.refuse(row, f"{source.name}, line {number}")
            continue
        why = exclusion(row, own)
        report.note(why, row.host if why == OTHER_HOST else row.path)
        if not why:
            yield number, row


def exclusion(row: LogRow, own: frozenset[str] = frozenset()) -> str:
    """Why a request is not a view of a page: one of EXCLUSIONS, or "" for a view."""
    if not row.method:
        return NO_HTTP
    if row.method != "GET":
        return NO_GET
    if row.status not in STATUSES:
        return NO_ANSWER
    if own and row.host and host_name(_PORT.sub("", row.host)) not in own:
        return OTHER_HOST
    if not row.path or len(row.path) > MAX_PATH or not is_safe_url(row.path):
        return NO_PATH
    if row.type and row.type.partition(";")[0].strip().lower() not in TYPES:
        return NO_HTML
    return _by_path(row.path.partition("?")[0].lower())


def _by_path(path: str) -> str:
    parts = [word for word in path.split("/") if word]
    if not parts:
        return ""
    if parts[0] in PROGRAMS:
        return PROGRAM
    extension = parts[-1].rpartition(".")[2] if "." in parts[-1] else ""
    if extension in FEEDS or parts[-1] in FEED_NAMES:
        return FEED
    return ASSET if extension in ASSETS else ""
