"""Shortcodes and emoticons as emoji: the ones that the reference server knows, by its rules."""

import re
from unicodedata import category

from emoji import emojize

# What people typed before there were emoji. `:\\` is not one of them: it is Markdown's escape.
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

# No shortcode is longer; without a bound, a line of colons would be searched from each of them.
_FOUND = re.compile(
    ":[A-Za-z0-9_+-]{1,50}:|"
    + "|".join(re.escape(each) for each in sorted(EMOTICONS, key=len, reverse=True))
)


def pictographs(text: str) -> str:
    return _FOUND.sub(_pictograph, text)


def _pictograph(found: re.Match[str]) -> str:
    text, start, end = found.string, found.start(), found.end()
    if found[0] not in EMOTICONS:
        return emojize(found[0], language="alias")
    # Not within a word, as in http://.
    is_alone = (start == 0 or _is_gap(text[start - 1])) and (end == len(text) or _is_gap(text[end]))
    return EMOTICONS[found[0]] if is_alone else found[0]


def _is_gap(character: str) -> bool:
    """A space, a punctuation mark or a control character."""
    kind = category(character)
    return kind[0] in "ZP" or kind == "Cc"
