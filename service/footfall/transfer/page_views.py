"""Which requests of an access log are views of pages, and what became of all the others.

A view is a GET that was answered with a page: with 200 or 304, at a path that is no file of a
page, no feed and nothing that programs ask for. The logs of most servers do not say what kind of
content an answer had; where one does, that must be HTML. Who asked does not matter here: crawlers
view pages, too, and statistics tell them apart.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ..http.params import MAX_PATH
from ..markup import is_safe_url
from .access_log import LogRow, in_order, log_source, read
from .source import Source

# What pages are made of, and what is offered beside them.
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
# First words of paths that programs ask for.
_PREFIXES = ".well-known _next _nuxt api cdn-cgi graphql"
_PROBED = "health healthz livez metrics ping readyz"
_WORDPRESS = "wp-admin wp-content wp-includes wp-json wp-login.php xmlrpc.php"
PROGRAMS = frozenset(" ".join((_PREFIXES, _PROBED, _WORDPRESS)).split())
TYPES = frozenset({"text/html", "application/xhtml+xml"})
STATUSES = frozenset({200, 304})

# Why a request is no view, in the order in which it is asked.
NO_HTTP = "is no request of HTTP"
NO_GET = "is no GET"
NO_ANSWER = "was not answered with 200 or 304"
NO_PATH = "names no page"
PROGRAM = "is at a path for programs"
FEED = "is a feed"
ASSET = "is a file of a page, or a download"
NO_HTML = "is no HTML"
EXCLUSIONS = (NO_HTTP, NO_GET, NO_ANSWER, NO_PATH, PROGRAM, FEED, ASSET, NO_HTML)


class ViewReport:
    """What became of the lines of a log: `views`, and the numbers of the others by reason.

    `unreadable` and `excluded` have the reasons of lines that cannot be read, and of requests that
    are no views; `first` is the file and line where each reason was first met.
    """

    def __init__(self) -> None:
        self.views = 0
        self.unreadable = Counter[str]()
        self.excluded = Counter[str]()
        self.first: dict[str, str] = {}


def page_views(sources: Iterable[Source], report: ViewReport) -> Iterator[LogRow]:
    """The views in the files of a log, the oldest file first. Raises Damaged, OSError."""
    for source in in_order(map(log_source, sources)):
        for number, row in read(source):
            reason = row if isinstance(row, str) else exclusion(row)
            if reason:
                reasons = report.unreadable if isinstance(row, str) else report.excluded
                reasons[reason] += 1
                report.first.setdefault(reason, f"{source.path}, line {number}")
            elif isinstance(row, LogRow):
                report.views += 1
                yield row


def exclusion(row: LogRow) -> str:
    """Why a request is no view of a page: one of EXCLUSIONS, or "" for one that is."""
    if not row.method:
        return NO_HTTP
    if row.method != "GET":
        return NO_GET
    if row.status not in STATUSES:
        return NO_ANSWER
    if not row.path or len(row.path) > MAX_PATH or not is_safe_url(row.path):
        return NO_PATH
    if row.type and row.type.partition(";")[0].strip().lower() not in TYPES:
        return NO_HTML
    return _by_path(row.path.partition("?")[0].lower())


def _by_path(path: str) -> str:
    words = [word for word in path.split("/") if word]
    if not words:
        return ""
    if words[0] in PROGRAMS:
        return PROGRAM
    extension = words[-1].rpartition(".")[2] if "." in words[-1] else ""
    if extension in FEEDS or words[-1] in FEED_NAMES:
        return FEED
    return ASSET if extension in ASSETS else ""
