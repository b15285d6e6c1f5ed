"""English documents that any machine with Python holds, and documents varied from them, for comparisons with peers.

Reference sections and docstrings of the standard library, descriptions and licences of installed packages. Which they
are differs between machines; order and variations depend on nothing but the texts.
"""

from __future__ import annotations

import ast
import random
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from pydoc_data.topics import topics

MIN_WORDS = 40
MAX_CHARACTERS = 60_000
DOCUMENT_NAMES = ("METADATA", "LICENSE", "LICENCE", "NOTICE", "README", "COPYING", "AUTHORS")


def english_documents() -> list[str]:
    """Distinct English texts, well over 600 of them, some megabytes in all."""
    documents = [*topics.values(), *_docstrings(), *_package_texts()]
    return [text for text in dict.fromkeys(documents) if len(text) <= MAX_CHARACTERS]


def varied_documents(documents: list[str], seed: int = 11) -> list[str]:
    """Texts made of `documents` around what the Gopher and FineWeb rules look for."""
    chance = random.Random(seed)
    return [text for document in documents for text in _variations(document, chance)]


def _docstrings() -> Iterator[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3"} & set(path.relative_to(library).parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if len(text.split()) >= MIN_WORDS:
                    yield text


def _package_texts() -> Iterator[str]:
    for package in sorted(metadata.distributions(), key=lambda each: each.metadata["Name"]):
        for file in sorted(package.files or [], key=str):
            if ".dist-info/" in str(file) and file.name.upper().startswith(DOCUMENT_NAMES):
                path = Path(str(file.locate()))
                if path.is_file():
                    yield path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")


def _variations(document: str, chance: random.Random) -> Iterator[str]:
    lines = [line for line in document.split("\n") if line.strip()]
    paragraphs = document.split("\n\n")
    share = chance.random()

    def some(line: str, other: str) -> str:
        return other if chance.random() < share else line

    repeated = chance.choice(lines)
    yield "\n".join(some(line, repeated) for line in lines)
    paragraph = chance.choice(paragraphs)
    yield "\n\n".join(some(each, paragraph) for each in paragraphs)
    yield "\n".join(some(line, f"- {line.strip()}") for line in lines)
    yield "\n".join(some(line, f"  • {line.strip()}") for line in lines)
    yield "\n".join(some(line, f"{line.rstrip('.')} ...") for line in lines)
    yield "\n".join(some(line, line.rstrip(".!?") + "…") for line in lines)
    yield "\n\n".join(some(line, f"# {line}") for line in lines)
    yield "\n".join(some(line, line[:25]) for line in lines)
    yield "\n".join(some(line, line.rstrip(".,:;!?")) for line in lines)
    yield " ".join(some(word, str(chance.randrange(10_000))) for word in document.split())
    phrase = " ".join(chance.choice(lines).split()[:6])
    yield " ".join(some(word, f"{word} {phrase}") if chance.random() < 0.2 else word for word in document.split())
    yield "\n".join(some(word, word * 3) for word in document.split())
    yield "\n \n".join(lines)
    yield f"\n\n{document}\n\n"
    yield " ".join(document.split()[: chance.randrange(1, 120)])
