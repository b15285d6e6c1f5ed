"""Words, folding and counts of characters the slow and obvious way, straight from Python's Unicode database."""

from __future__ import annotations

import unicodedata

WHITE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(point) for point in range(0x2000, 0x200B)}
UNSPACED_NAMES = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC CLOSING MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
    "HANGZHOU NUMERAL",
    "HIRAGANA",
    "HENTAIGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TIBETAN",
)


def is_unspaced(character: str) -> bool:
    letter = unicodedata.category(character) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl")
    return letter and unicodedata.name(character, "").startswith(UNSPACED_NAMES)


def is_silent(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "PS" or category in ("Cc", "Cf")


def words(text: str) -> list[str]:
    found: list[str] = []
    open_word = alone = False
    for character in text:
        if character in WHITE:
            open_word = alone = False
        elif is_unspaced(character):
            found.append(character)
            open_word, alone = True, True
        elif open_word and not (alone and unicodedata.category(character)[0] != "M"):
            found[-1] += character
        else:
            found.append(character)
            open_word, alone = True, False
    return found


def lower(character: str) -> str:
    folded = character.lower()
    return folded if len(folded) == 1 else character


def fold(word: str) -> str:
    return "".join(lower(character) for character in word if not is_silent(character))
