"""Files below a path: folders walked, globs matched, the same on local disks and on any fsspec URL.

`*` and `?` stay within a name, `[...]` is a set, `**` is any number of folders. Names that begin with a dot are matched
only by a pattern that says so. Which files a source takes, and in which tasks, is listing.py's.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator

from tonnage.errors import UsageError
from tonnage.store.files import filesystem_of, is_local, local_path

_MAGIC = re.compile(r"[*?\[]")
CACHE_FOLDERS = ("__pycache__",)


def has_magic(path: str) -> bool:
    return _MAGIC.search(path) is not None


def split_root(path: str) -> tuple[str, str]:
    """(folder without any wildcard, pattern below it) of a glob."""
    scheme, separator, rest = path.rpartition("://")
    parts = rest.split("/")
    fixed = next(index for index, part in enumerate(parts) if has_magic(part))
    root = "/".join(parts[:fixed])
    return f"{scheme}{separator}{root}" or ("/" if path.startswith("/") else ""), "/".join(parts[fixed:])


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path below the root, with forward slashes, matches a glob."""
    expression = re.compile("".join(_translated(pattern.split("/"))), re.DOTALL)
    return lambda path: expression.fullmatch(path) is not None


def _translated(parts: list[str]) -> Iterator[str]:
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            yield r"(?:(?!\.)[^/]+/)*" if not last else r"(?:(?!\.)[^/]+/)*(?!\.)[^/]+"
            continue
        yield _component(part)
        if not last:
            yield "/"


def _component(part: str) -> str:
    pieces = [] if part.startswith(".") else [r"(?!\.)"]
    position = 0
    while position < len(part):
        char = part[position]
        position += 1
        if char == "*":
            pieces.append("[^/]*")
        elif char == "?":
            pieces.append("[^/]")
        elif char == "[" and (end := part.find("]", position + 1)) > 0:
            inner = part[position:end]
            inverse = inner[0] in "!^"
            content = inner[1:] if inverse else inner
            pieces.append(f"[{'^/' if inverse else ''}{content.translate(_ESCAPED)}]")
            position = end + 1
        else:
            pieces.append(re.escape(char))
    return "".join(pieces)


_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\[]^&~|"})


def excluder(patterns: Iterable[str]) -> Callable[[str], str | None]:
    """The pattern that leaves a path below the root out, None when it stays.

    A pattern without a slash fits the name of a file or of any folder on the way to it; one with a slash fits the path
    from the root, or a folder of that path.
    """
    fitting = [(pattern, "/" in pattern.strip("/"), matcher(pattern.strip("/"))) for pattern in patterns]

    def excluded(path: str) -> str | None:
        parts = path.split("/")
        folders = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        for pattern, is_path, fits in fitting:
            if any(fits(candidate) for candidate in (folders if is_path else parts)):
                return pattern
        return None

    return excluded


def files_below(root: str, pattern: str | None, *, follow_links: bool) -> list[str]:
    """Paths below `root` of its files that match `pattern` (all without one), not those of hidden names, sorted.

    Links are followed to files and folders when `follow_links`, never in a circle; else they are no files at all.
    Raises UsageError when a folder cannot be listed.
    """
    deep = pattern is None or "**" in pattern.split("/")
    depth = None if deep else (pattern or "").count("/") + 1
    hidden = pattern is not None and any(part.startswith(".") for part in pattern.split("/"))
    fits = matcher(pattern or "**")
    found = _walk(local_path(root) or ".", depth, hidden, follow_links) if is_local(root) else _find(root, depth)
    return sorted(path for path in found if fits(path))


def _walk(root: str, depth: int | None, hidden: bool, follow_links: bool) -> Iterator[str]:
    waiting: list[tuple[str, frozenset[str]]] = [("", frozenset([os.path.realpath(root)]))]
    while waiting:
        below, above = waiting.pop()
        folder = os.path.join(root, below)
        try:
            entries = list(os.scandir(folder))
        except OSError as fault:
            raise UsageError(
                f"{folder} cannot be listed ({fault.strerror or fault}); check its permissions or exclude it"
            ) from fault
        for entry in entries:
            if (entry.name.startswith(".") and not hidden) or (entry.is_symlink() and not follow_links):
                continue
            path = f"{below}{entry.name}"
            if entry.is_dir():
                if entry.name in CACHE_FOLDERS or (depth is not None and path.count("/") + 1 >= depth):
                    continue
                real = os.path.realpath(entry.path)
                if real not in above:
                    waiting.append((f"{path}/", above | {real}))
            elif _is_file(entry):
                yield path


def _is_file(entry: os.DirEntry[str]) -> bool:
    """False for pipes, sockets and links to nowhere."""
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return False


def _find(root: str, depth: int | None) -> Iterator[str]:
    filesystem, inner = filesystem_of(root)
    start = inner.rstrip("/")
    for path in filesystem.find(start, maxdepth=depth):
        yield path[len(start) :].lstrip("/")
