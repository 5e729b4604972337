"""Shortcodes such as :tada: and emoticons as emoji: those of Waline, by its rules."""

import re
from unicodedata import category

from emoji import emojize

# Emoji -> emoticons. `:\\` is missing, since a backslash is Markdown's escape.
EMOTICONS = {
    emoticon: pictograph
    for pictograph, emoticons in {
        "😠": ">:( >:-(",
        "😊": ':") :-")',
        "💔": "</3 <\\3",
        "😕": ":/ :-/",
        "😢": ":'( :'-( :,( :,-(",
        "😦": ":( :-(",
        "❤️": "<3",
        "👿": "]:( ]:-(",
        "😇": "o:) O:) o:-) O:-) 0:) 0:-)",
        "😂": ":') :'-) :,) :,-) :'D :'-D :,D :,-D",
        "😗": ":* :-*",
        "😆": "x-) X-)",
        "😐": ":| :-|",
        "😮": ":o :-o :O :-O",
        "😡": ":@ :-@",
        "😄": ":D :-D",
        "😃": ":) :-)",
        "😈": "]:) ]:-)",
        "😭": ":,'( :,'-( ;( ;-(",
        "😛": ":P :-P",
        "😎": "8-) B-)",
        "😓": ",:( ,:-(",
        "😅": ",:) ,:-)",
        "😒": ":s :-S :z :-Z :$ :-$",
        "😉": ";) ;-)",
    }.items()
    for emoticon in emoticons.split()
}

# No shortcode is longer than 50; without a limit, a line of colons would take quadratic time.
_FOUND = re.compile(
    ":[A-Za-z0-9_+-]{1,50}:|"
    + "|".join(re.escape(emoticon) for emoticon in sorted(EMOTICONS, key=len, reverse=True))
)


def pictographs(text: str) -> str:
    return _FOUND.sub(_pictograph, text)


def _pictograph(match: re.Match[str]) -> str:
    text, start, end = match.string, match.start(), match.end()
    if match[0] not in EMOTICONS:
        return emojize(match[0], language="alias")
    # An emoticon inside a word, as in http://, is text.
    is_alone = (start == 0 or _is_gap(text[start - 1])) and (end == len(text) or _is_gap(text[end]))
    return EMOTICONS[match[0]] if is_alone else match[0]


def _is_gap(character: str) -> bool:
    """A space, a punctuation mark or a control character."""
    kind = category(character)
    return kind[0] in "ZP" or kind == "Cc"
