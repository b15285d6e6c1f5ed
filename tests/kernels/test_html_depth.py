"""The bound on nesting against the depth of the tree that a parser builds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from resiliparse.parse.html import HTMLTree

from tonnage.kernels.html_depth import may_be_deeper


def bound(page: str) -> int:
    """The lowest limit that the page is said to keep."""
    data = np.frombuffer(page.encode(), np.uint8)
    return next(limit for limit in range(10_000) if not may_be_deeper(data, limit))


def true_depth(page: str) -> int:
    """Elements with content below html and body, which a parser adds."""
    node, depth, deepest = HTMLTree.parse(f"<!doctype html><body>{page}").document, 0, 0
    while node is not None:
        if node.tag and node.tag[0].isalpha() and node.tag != "br":
            deepest = max(deepest, depth)
        if node.first_child is not None:
            node, depth = node.first_child, depth + 1
            continue
        while node is not None and node.next_sibling is None:
            node, depth = node.parent, depth - 1
        node = node.next_sibling if node is not None else None
    return deepest - 2


@pytest.mark.parametrize(
    ("page", "depth"),
    [
        ("", 0),
        ("text < 3 <", 0),
        ("<p>a</p><p>b</p>", 1),
        ("<div><span>a</span></div>", 2),
        ("<div><br><img><hr></div>", 1),
        ("<DIV CLASS='a>b'><Span title=\"</div>\">a</SPAN></dIv>", 2),
        ("<div>" * 70 + "</div>" * 70, 70),
        ("<div></x>" * 50, 50),
        ("<!-- <div> " + "<div>" * 9 + "--><p>", 1),
        ("<div><!--</div>-->" * 20, 20),
        ("<script>'<div><div></div'</script><p>", 1),
        ("<textarea><b></b><i></textarea>", 1),
        ("<a b=c'd><i>", 2),
        ("<p>a<p>b<p>c<div>", 1),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", 4),
        ("<span><section></span></section>" * 30, 31),
        ("<span>a</span>" * 30, 1),
        ("<li><div><li><ul></div><ul>", 3),
        ("<div><table><tr><td></div><div>", 5),
        ("".join(f"<p><b id={n}>a</p>" for n in range(30)), 31),
    ],
)
def test_cases(page: str, depth: int) -> None:
    assert bound(page) == depth


BLOCKS = "<div> </div> <section/a='>'> </section> <p> </p> <span> </span> text <br>"
LISTS = "<ul> </ul> <ol> </ol> <li> </li> <dl> </dl> <dd> <dt>"


def test_never_below_the_tree_of_random_pages() -> None:
    chance = random.Random(8)
    pieces = f"{BLOCKS} {LISTS}".split()
    for _ in range(1000):
        page = "".join(chance.choice(pieces) for _ in range(chance.randrange(1, 120)))
        assert bound(page) >= true_depth(page), page
