"""Whether the elements of a page may nest deeper than a limit, from its tags alone: cheap enough to ask of every page.

Tags are tokenized as HTML does (comments, quoted attributes, raw text of scripts) and kept on a stack with the main
rules of HTML's tree construction: which end tags count, and which elements end without one. Where those rules are cut
short here, the answer errs on the side of deeper, with one exception: tables nested wrongly within one another, whose
content HTML moves about, may come out shallower than they are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)
_SEARCH = 1024  # elements an end tag looks through; beyond, it is taken to end nothing


def _hash(name: str) -> int:
    """FNV-1a, as `_name` computes it."""
    value = int(_BASIS)
    for byte in name.encode():
        value = (value ^ byte) * int(_PRIME) % (1 << 64)
    return value


def _hashes(names: str) -> np.ndarray:
    return np.array(sorted(map(_hash, names.split())), np.uint64)


# HTML Living Standard: 13.1.2 (elements without content; elements whose content is text), 13.2.4.2 (special elements,
# through which the end tag of another element does not reach), 13.2.4.3 (formatting elements, which are opened again
# after an element around them ended), 13.2.6.4.7 (start tags that end a p).
_VOID = _hashes("area base br col embed hr img input link meta source track wbr param frame keygen basefont bgsound")
_RAW = _hashes("script style textarea title xmp iframe noembed noframes")
_SPECIAL = _hashes(
    """address applet article aside blockquote body button caption center colgroup dd details dir div dl dt fieldset
    figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup html li listing main marquee menu nav
    noscript object ol p plaintext pre search section select summary table tbody td template tfoot th thead tr ul"""
)
_FORMATTING = _hashes("a b big code em font i nobr s small strike strong tt u")
_ENDS_P = _hashes(
    """address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1
    h2 h3 h4 h5 h6 header hgroup li listing main menu nav ol p pre search section summary ul"""
)
_LI = np.uint64(_hash("li"))
_DD = np.uint64(_hash("dd"))
_DT = np.uint64(_hash("dt"))
_P = np.uint64(_hash("p"))
_OPTION = np.uint64(_hash("option"))
_PASSED_BY_ITEMS = _hashes("address div p")  # special elements through which the start tag of an item ends another
# HTML, 13.2.4.2: elements at which the search for the element to end stops ("scope"); for lists and p there are more.
_SCOPE = _hashes("applet caption html table td th marquee object template")
_TABLE_SCOPE = _hashes("html table template")
_TABLE_PARTS = _hashes("caption col colgroup table tbody td tfoot th thead tr")
_LISTS = _hashes("ol ul")
_BUTTON = np.uint64(_hash("button"))


def may_be_deeper(data: np.ndarray, limit: int) -> bool:
    """False when no more than `limit` elements lie within one another on the page `data` (uint8, UTF-8); see above."""
    return bool(_exceeds(data, limit))


@njit(cache=True, nogil=True)
def _name(data, position):
    """(hash of the lower-case tag name at `position`, where it ends)."""
    value = _BASIS
    while position < len(data):
        byte = data[position]
        if byte <= 32 or byte == 47 or byte == 62:
            break
        if 65 <= byte <= 90:
            byte = byte + 32
        value = (value ^ np.uint64(byte)) * _PRIME
        position += 1
    return value, position


@njit(cache=True, nogil=True)
def _tag_end(data, position):
    """Behind the > that ends a tag; quotes hide it only where an attribute's value may begin."""
    quote = 0
    before = 0
    while position < len(data):
        byte = data[position]
        position += 1
        if quote:
            if byte == quote:
                quote = 0
                before = 0
        elif byte == 62:
            break
        elif (byte == 34 or byte == 39) and before == 61:
            quote = byte
        elif byte > 32:
            before = byte
    return position


@njit(cache=True, nogil=True)
def _comment_end(data, position):
    while position + 2 < len(data):
        if data[position] == 45 and data[position + 1] == 45 and data[position + 2] == 62:
            return position + 3
        position += 1
    return len(data)


@njit(cache=True, nogil=True)
def _raw_end(data, position, name):
    """Where the end tag of a raw text element begins."""
    while position + 1 < len(data):
        if data[position] == 60 and data[position + 1] == 47:
            found, _ = _name(data, position + 2)
            if found == name:
                return position
        position += 1
    return len(data)


@njit(cache=True, nogil=True)
def _is_one_of(name, names):
    place = np.searchsorted(names, name)
    return place < len(names) and names[place] == name


@njit(cache=True, nogil=True)
def _hides(name, other):
    """Whether the search for an element `name` to end stops at the element `other`."""
    if _is_one_of(name, _TABLE_PARTS):
        return _is_one_of(other, _TABLE_SCOPE)
    if not _is_one_of(name, _SPECIAL):
        return _is_one_of(other, _SPECIAL)
    if (name == _LI and _is_one_of(other, _LISTS)) or (name == _P and other == _BUTTON):
        return True
    return _is_one_of(other, _SCOPE)


@njit(cache=True, nogil=True)
def _ended(stack, depth, name):
    """The depth that is left when an end tag of `name` has ended what it does; `depth` when it ends nothing."""
    for steps in range(min(depth, _SEARCH)):
        other = stack[depth - 1 - steps]
        if other == name:
            return depth - 1 - steps
        if _hides(name, other):
            break
    return depth


@njit(cache=True, nogil=True)
def _ended_by_start(stack, depth, name):
    """The depth that is left when the start tag of `name` has ended what it does."""
    if name == _LI or name == _DD or name == _DT:
        for steps in range(min(depth, _SEARCH)):
            other = stack[depth - 1 - steps]
            if other == name or (name != _LI and (other == _DD or other == _DT)):
                depth -= steps + 1
                break
            if _is_one_of(other, _SPECIAL) and not _is_one_of(other, _PASSED_BY_ITEMS):
                break
    elif name == _OPTION and depth > 0 and stack[depth - 1] == name:
        depth -= 1
    return _ended(stack, depth, _P) if _is_one_of(name, _ENDS_P) else depth


@njit(cache=True, nogil=True)
def _formatting_between(stack, begin, end):
    count = 0
    for place in range(begin, end):
        count += _is_one_of(stack[place], _FORMATTING)
    return count


@njit(cache=True, nogil=True)
def _exceeds(data, limit):
    stack = np.zeros(limit + 2, np.uint64)
    depth = 0
    lingering = 0  # formatting elements that ended with an element around them and will be opened again
    position = 0
    size = len(data)
    while position + 1 < size:
        if data[position] != 60:
            position += 1
            continue
        byte = data[position + 1]
        if byte == 33 and position + 3 < size and data[position + 2] == 45 and data[position + 3] == 45:
            position = _comment_end(data, position + 2)
            continue
        closing = byte == 47
        begin = position + 2 if closing else position + 1
        if begin >= size or not (97 <= (data[begin] | 32) <= 122):
            position += 1
            continue
        name, end = _name(data, begin)
        position = _tag_end(data, end)
        if closing:
            left = _ended(stack, depth, name)
            if name == _P and left == depth and depth + lingering + 1 > limit:
                return True  # an end tag of p without its start makes an empty one
            if left == depth:
                lingering -= lingering > 0 and _is_one_of(name, _FORMATTING)
            else:
                lingering += _formatting_between(stack, left + 1, depth)
            depth = left
        elif not _is_one_of(name, _VOID):
            left = _ended_by_start(stack, depth, name)
            lingering += _formatting_between(stack, left, depth)
            depth = left
            stack[depth] = name
            depth += 1
            if depth + lingering > limit:
                return True
            if _is_one_of(name, _RAW):
                position = _raw_end(data, position, name)
    return False
