"""What kernels know of each code point: its classes as bits of one byte, and its simple lower case.

Built once a process from Python's Unicode database, as flat arrays that kernels take as arguments. What a word is, is for
words.py.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import NamedTuple

import numpy as np

CODE_POINTS = 0x110000

WHITE = 1  # Unicode White_Space
UNSPACED = 2  # a letter of a script that is written without spaces between words
ALPHA = 4  # a letter (L*), as str.isalpha
SILENT = 8  # left out when a word is folded: punctuation (P*), symbols (S*), control and format characters (Cc, Cf)
MARK = 16  # a combining mark (M*): stays with the letter before it
DIGIT = 32  # a decimal digit (Nd)
UPPER = 64  # an upper-case letter (Lu)
ALNUM = 128  # a letter or number (L*, N*)

# Unicode 15 PropList, White_Space.
WHITE_SPACE = (*range(0x9, 0xE), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)

# Blocks of Thai, Lao, Tibetan, Myanmar, Khmer, kana and Han (Unicode 15 Blocks); letters in them are words of their own.
UNSPACED_BLOCKS = (
    (0x0E00, 0x0E80),  # Thai
    (0x0E80, 0x0F00),  # Lao
    (0x0F00, 0x1000),  # Tibetan
    (0x1000, 0x10A0),  # Myanmar
    (0x1780, 0x1800),  # Khmer
    (0x2E80, 0x2FE0),  # CJK radicals
    (0x3005, 0x3008),  # ideographic iteration mark, closing mark, number zero
    (0x3021, 0x302A),  # Hangzhou numerals
    (0x3038, 0x303C),
    (0x3040, 0x3100),  # Hiragana, Katakana
    (0x31F0, 0x3200),  # Katakana phonetic extensions
    (0x3400, 0x4DC0),  # CJK extension A
    (0x4E00, 0xA000),  # CJK unified ideographs
    (0xA9E0, 0xAA00),  # Myanmar extended B
    (0xAA60, 0xAA80),  # Myanmar extended A
    (0xF900, 0xFB00),  # CJK compatibility ideographs
    (0xFF66, 0xFFA0),  # halfwidth Katakana
    (0x1AFF0, 0x1B170),  # kana extensions and supplements
    (0x20000, 0x323B0),  # CJK extensions B to H, compatibility supplement
)
# Nothing but private use, variation selectors and tags lies above the ideographs; the loop below stops here.
_LAST_LETTERS = 0x323B0
_VARIATION_SELECTORS = (0xE0000, 0xE01F0)
_LAST_CASED = 0x1E944  # one behind the last code point with a lower case (Adlam)

_CLASSES = {
    **dict.fromkeys(("Ll", "Lt", "Lm", "Lo"), ALPHA | ALNUM),
    "Lu": ALPHA | ALNUM | UPPER,
    **dict.fromkeys(("Mn", "Mc", "Me"), MARK),
    "Nd": ALNUM | DIGIT,
    **dict.fromkeys(("Nl", "No"), ALNUM),
    **dict.fromkeys(("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Cc", "Cf"), SILENT),
    **dict.fromkeys(("Zs", "Zl", "Zp", "Cs", "Co", "Cn"), 0),
}


class Tables(NamedTuple):
    """`classes` uint8[CODE_POINTS], bits as named in this module; `lower` int32[CODE_POINTS], the folded code point."""

    classes: np.ndarray
    lower: np.ndarray


@functools.cache
def tables() -> Tables:
    """The tables of this process, made at the first call (about 0.2 s)."""
    found = bytearray(CODE_POINTS)
    for begin, end in ((0, _LAST_LETTERS), _VARIATION_SELECTORS):
        found[begin:end] = bytes([_CLASSES[unicodedata.category(chr(point))] for point in range(begin, end)])
    classes = np.frombuffer(found, np.uint8)
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    lower[:_LAST_CASED] = [ord(f) if len(f := chr(point).lower()) == 1 else point for point in range(_LAST_CASED)]
    for begin, end in UNSPACED_BLOCKS:
        letters = classes[begin:end]
        letters[(letters & ALNUM).astype(bool) & ~(letters & DIGIT).astype(bool)] |= UNSPACED
    classes[list(WHITE_SPACE)] |= WHITE
    return Tables(classes, lower)
