"""Which licence a text is: by phrases that its wording has and others do not. The texts of files are licences.py's.

Phrases are compared after folding to lower-case words, so that line breaks, quotes and comment marks do not count. They
are short quotations from the licences at spdx.org/licenses; identifiers are SPDX's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = re.compile(r"[^a-z0-9]+")
_TAG = re.compile(r"SPDX-License-Identifier:[ \t]*([^\r\n]+?)[ \t]*(?:-->|\*/|$)", re.MULTILINE)
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+|[()]")
_OPERATORS = ("AND", "OR", "WITH")
TAG_BYTES = 4096  # tags stand in the first lines of a file
TEXT_BYTES = 64 << 10  # the longest of these licences, with notices before it, is shorter


class _Print(NamedTuple):
    """A licence is there when all of `present` and none of `absent` are."""

    licence: str
    present: tuple[str, ...]
    absent: tuple[str, ...] = ()


_BSD = (
    "redistribution and use in source and binary forms with or without modification are permitted",
    "redistributions in binary form must reproduce the above copyright notice",
)
_FREELY = (
    "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby "
    "granted"
)
_BSD_THIRD = "endorse or promote products derived from this software without specific prior written permission"
_BSD_FOURTH = "all advertising materials mentioning features or use of this software"

# Of those that fit, the one whose first phrase stands first is the answer: licences name others further down, and files
# that list the licences of bundled parts begin with their own. The GPL's text alone grants no later version.
_PRINTS = (
    _Print("PSF-2.0", ("python software foundation license version 2",)),
    _Print("AGPL-3.0-only", ("gnu affero general public license version 3",)),
    _Print("LGPL-3.0-only", ("gnu lesser general public license version 3",)),
    _Print("LGPL-2.1-only", ("gnu lesser general public license version 2 1",)),
    _Print("LGPL-2.0-only", ("gnu library general public license version 2",)),
    _Print("GPL-3.0-only", ("gnu general public license version 3 29 june 2007",)),
    _Print("GPL-2.0-only", ("gnu general public license version 2 june 1991",)),
    _Print("Apache-2.0", ("apache license version 2 0 january 2004",)),
    _Print("Apache-2.0", ("licensed under the apache license version 2 0",)),
    _Print("MPL-2.0", ("mozilla public license version 2 0",)),
    _Print("EPL-2.0", ("eclipse public license v 2 0",)),
    _Print("CC0-1.0", ("creative commons legal code cc0 1 0 universal",)),
    _Print("CC0-1.0", ("cc0 1 0 universal statement of purpose",)),
    _Print("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    _Print("BSL-1.0", ("boost software license version 1 0",)),
    _Print(
        "Zlib",
        (
            "this software is provided as is without any express or implied warranty",
            "altered source versions must be plainly marked as such",
        ),
    ),
    _Print("BSD-4-Clause", (*_BSD, _BSD_FOURTH)),
    _Print("BSD-3-Clause", (*_BSD, _BSD_THIRD)),
    _Print("BSD-2-Clause", _BSD, (_BSD_THIRD, _BSD_FOURTH)),
    _Print(
        "ISC",
        (_FREELY, "provided that the above copyright notice and this permission notice appear in all copies"),
    ),
    _Print("0BSD", (_FREELY,), ("provided that the above copyright notice",)),
    _Print(
        "MIT-0",
        ("permission is hereby granted free of charge to any person obtaining a copy of this software",),
        ("the above copyright notice and this permission notice",),
    ),
    _Print(
        "MIT",
        (
            "permission is hereby granted free of charge to any person obtaining a copy of this software",
            "the above copyright notice and this permission notice",
            "shall be included in all copies or substantial portions of the software",
        ),
    ),
)

# Names that package files use, and classifiers of the Python package index, after `folded`.
_NAMES = {
    "mit": "MIT",
    "mit license": "MIT",
    "expat": "MIT",
    "isc": "ISC",
    "isc license": "ISC",
    "isc license iscl": "ISC",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd 2 clause": "BSD-2-Clause",
    "bsd 3 clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "new bsd license": "BSD-3-Clause",
    "simplified bsd": "BSD-2-Clause",
    "apache 2 0": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache license 2 0": "Apache-2.0",
    "apache license version 2 0": "Apache-2.0",
    "apache software license 2 0": "Apache-2.0",
    "gnu general public license v2 gplv2": "GPL-2.0-only",
    "gnu general public license v2 or later gplv2": "GPL-2.0-or-later",
    "gnu general public license v3 gplv3": "GPL-3.0-only",
    "gnu general public license v3 or later gplv3": "GPL-3.0-or-later",
    "gnu lesser general public license v2 or later lgplv2": "LGPL-2.0-or-later",
    "gnu lesser general public license v3 lgplv3": "LGPL-3.0-only",
    "gnu lesser general public license v3 or later lgplv3": "LGPL-3.0-or-later",
    "mozilla public license 2 0 mpl 2 0": "MPL-2.0",
    "mpl 2 0": "MPL-2.0",
    "psf": "PSF-2.0",
    "psf license": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense unlicense": "Unlicense",
    "unlicense": "Unlicense",
    "zlib libpng license": "Zlib",
    "cc0 1 0 universal cc0 1 0 public domain dedication": "CC0-1.0",
}


def folded(text: str) -> str:
    """Lower-case words with single blanks between."""
    return _WORD.sub(" ", text.lower()).strip()


def licence_of_text(text: str) -> str | None:
    """The SPDX identifier of a licence's text, None when it is none of those known here."""
    words = folded(text[:TEXT_BYTES])
    fitting = [
        (words.index(each.present[0]), order, each.licence)
        for order, each in enumerate(_PRINTS)
        if all(phrase in words for phrase in each.present) and not any(phrase in words for phrase in each.absent)
    ]
    return min(fitting)[2] if fitting else None


def licence_of_tag(text: str) -> str | None:
    """The SPDX expression of a `SPDX-License-Identifier:` tag in the first lines of a file, None without one."""
    found = _TAG.search(text[:TAG_BYTES])
    return None if found is None else expression(found.group(1), strict=False)


def licence_of_name(name: str) -> str | None:
    """The licence that a package file names: an SPDX expression, or one of the usual names."""
    known = _NAMES.get(folded(name))
    if known is not None:
        return known
    words = name.split()
    spdx = len(words) == 1 or any(word in _OPERATORS for word in words)
    return expression(name, strict=True) if spdx and len(name) < 200 and name.upper() != "UNKNOWN" else None


def expression(text: str, *, strict: bool) -> str | None:
    """The SPDX expression at the start of `text`; when strict, `text` must hold nothing else.

    Comment ends and anything else that is no part of an expression end it.
    """
    parts: list[str] = []
    position = 0
    while (match := _EXPRESSION.match(text, position)) is not None:
        part = match.group().rstrip(".")
        if not part or part in ("-", "--") or part.startswith("--"):
            break
        upper = part.upper()
        operand = not (part in "()" or upper in _OPERATORS)
        if operand and parts and parts[-1] not in ("(", *_OPERATORS):
            break
        parts.append(upper if upper in _OPERATORS else part)
        position = match.end()
        while position < len(text) and text[position] in " \t":
            position += 1
    while parts and parts[-1] in ("(", *_OPERATORS):
        parts.pop()
    if not parts or parts[0] in (")", *_OPERATORS) or (strict and position < len(text.rstrip())):
        return None
    return " ".join(parts).replace("( ", "(").replace(" )", ")")
