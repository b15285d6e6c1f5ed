"""What kernels know of each code point: its classes as bits of one byte, and its simple lower case.

Built once a process from Python's Unicode database, as flat arrays that kernels take as arguments. What a word is, is
for words.py.
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
TERMINAL = 256  # ends a sentence (Unicode Sentence_Terminal)

# Unicode 15 PropList, White_Space.
WHITE_SPACE = (
    *range(0x9, 0xE),
    0x20,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)

# Unicode 15 PropList, Sentence_Terminal, and the marks of other scripts that end a sentence there.
SENTENCE_TERMINALS = """
0021 002E 003F 0589 061D-061F 06D4 0700-0702 07F9 0837 0839 083D 083E 0964 0965 104A 104B 1362 1367 1368 166E 1735 1736
17D4-17D6 17D9 17DA 1803 1809 1944 1945 1AA8-1AAB 1B5A 1B5B 1B5E 1B5F 1B7D 1B7E 1C3B 1C3C 1C7E 1C7F 203C 203D 2047-2049
2E2E 2E3C 2E53 2E54 3002 A4FF A60E A60F A6F3 A6F7 A876 A877 A8CE A8CF A92F A9C8 A9C9 AA5D-AA5F AAF0 AAF1 ABEB FE52 FE56
FE57 FF01 FF0E FF1F FF61 10A56 10A57 10F55-10F59 10F86-10F89 11047 11048 110BE-110C1 11141-11143 111C5 111C6 111CD 111DE
111DF 11238 11239 1123B 1123C 112A9 1144B 1144C 115C2 115C3 115C9-115D7 11641 11642 1173C-1173E 11944 11946 11A42 11A43
11A9B 11A9C 11C41 11C42 11EF7 11EF8 11F43 11F44 16A6E 16A6F 16AF5 16B37 16B38 16B44 16E98 1BC9F 1DA88
"""

# Blocks of Thai, Lao, Tibetan, Myanmar, Khmer, kana and Han (Unicode 15 Blocks); letters in them are words of their
# own.
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
    """`classes` uint16[CODE_POINTS], bits as named in this module; `lower` int32[CODE_POINTS], the folded code
    point.
    """

    classes: np.ndarray
    lower: np.ndarray


@functools.cache
def tables() -> Tables:
    """The tables of this process, made at the first call (about 0.2 s)."""
    classes = np.zeros(CODE_POINTS, np.uint16)
    for begin, end in ((0, _LAST_LETTERS), _VARIATION_SELECTORS):
        classes[begin:end] = [_CLASSES[unicodedata.category(chr(point))] for point in range(begin, end)]
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    lower[:_LAST_CASED] = [ord(f) if len(f := chr(point).lower()) == 1 else point for point in range(_LAST_CASED)]
    for begin, end in UNSPACED_BLOCKS:
        letters = classes[begin:end]
        numerals = [unicodedata.category(chr(point)) == "Nl" for point in range(begin, end)]
        letters[(letters & ALPHA).astype(bool) | np.array(numerals)] |= UNSPACED
    classes[list(WHITE_SPACE)] |= WHITE
    for part in SENTENCE_TERMINALS.split():
        first, _, last = part.partition("-")
        classes[int(first, 16) : int(last or first, 16) + 1] |= TERMINAL
    return Tables(classes, lower)
