"""Near-duplicates planted in real text: words edited, inserted, deleted, paragraphs moved; each of known origin."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

KINDS = ("edited", "inserted", "deleted", "moved")


def pieces_of(texts: Sequence[str], words: int = 200) -> list[str]:
    """`texts` cut into pieces of that many words, white space kept; what is left over at an end is dropped."""
    result = []
    for text in texts:
        tokens = re.findall(r"\S+\s*", text)
        result += ["".join(tokens[i : i + words]) for i in range(0, len(tokens) - words + 1, words)]
    return list(dict.fromkeys(result))


def variant(text: str, kind: str, share: float, vocabulary: Sequence[str], chance: random.Random) -> str:
    """`text` with that share of its words edited, inserted or deleted, or with its paragraphs in another order."""
    tokens = re.findall(r"\S+\s*", text)
    if kind == "moved":
        paragraphs = text.split("\n\n")
        if len(paragraphs) < 3:
            half = len(tokens) // 2
            return "".join(tokens[half:]).rstrip() + "\n\n" + "".join(tokens[:half])
        first = paragraphs.pop(chance.randrange(len(paragraphs)))
        paragraphs.insert(chance.randrange(len(paragraphs) + 1), first)
        return "\n\n".join(paragraphs)
    for place in sorted(chance.sample(range(len(tokens)), max(1, round(share * len(tokens)))), reverse=True):
        new = chance.choice(vocabulary) + " "
        tokens[place : place + 1] = {"edited": [new], "inserted": [tokens[place], new], "deleted": []}[kind]
    return "".join(tokens)


def corpus(originals: Sequence[str], documents: int, seed: int, variants: int = 3) -> list[str]:
    """`documents` texts: originals, each followed by `variants` near-duplicates with 1 to 30 % of its words changed."""
    chance = random.Random(seed)
    vocabulary = sorted({word for text in originals[:200] for word in text.split() if word.isalpha()})
    result: list[str] = []
    for text in originals:
        result.append(text)
        for _ in range(variants):
            result.append(variant(text, chance.choice(KINDS), chance.uniform(0.01, 0.3), vocabulary, chance))
        if len(result) >= documents:
            break
    assert len(result) >= documents, len(result)
    return result[:documents]
