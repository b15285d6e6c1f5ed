"""The licence that governs a file of a source tree: of its own tag, or of the nearest licence file above it.

In this order: a SPDX tag in the file's first lines; then, folder by folder upwards to the source's root, a licence
file by its text, or a package file by its licence field. A licence file whose text is not known ends the search: what
it says holds, and nobody knows what it says. Which text is which licence is licence_texts.py's.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash

from tonnage.sources.containers import raw_chunks
from tonnage.sources.licence_texts import TEXT_BYTES, licence_of_name, licence_of_tag, licence_of_text
from tonnage.sources.spec import UNKNOWN_LICENCE
from tonnage.store.files import filesystem_of, is_local, local_path, stamp_of

_LICENCE_FILE = re.compile(
    r"(?:un)?licen[cs]es?(?:[-_.][a-z0-9.+_-]+)?|copying(?:[-_.][a-z0-9.+_-]+)?|(?:[a-z0-9+]+[-_.])licen[cs]e(?:\.txt|\.md|\.rst)?",
    re.IGNORECASE,
)
_NOT_A_LICENCE = re.compile(
    r"\.(?:py|c|h|cc|cpp|js|ts|go|rs|java|rb|pl|sh|html?|json|ya?ml|xml|css|pyc|so)$", re.IGNORECASE
)
_CHOICE = re.compile(r"(?:licen[cs]e)[-_.](?!txt$|md$|rst$)", re.IGNORECASE)
_PACKAGE_FILES = ("PKG-INFO", "METADATA", "package.json", "Cargo.toml", "pyproject.toml")
_TOML_FIELD = re.compile(r"""^\s*license\s*=\s*(?:\{\s*text\s*=\s*)?["']([^"']+)["']""", re.MULTILINE)
_CLASSIFIER = re.compile(r"^Classifier: License :: (?:OSI Approved :: )?(.+)$", re.MULTILINE)
_HEADER = re.compile(r"^License(-Expression)?: (.+)$", re.MULTILINE)


class Licence(NamedTuple):
    """An SPDX expression or 'unknown', and what says so: 'tag', or the file below the source's root."""

    expression: str
    found_by: str | None


@dataclass
class LicenceFinder:
    """Finds licences and remembers what it read of each folder; one serves one task."""

    _folders: dict[str, Sequence[str]] = field(default_factory=dict)
    _found: dict[tuple[str, str], Licence | None] = field(default_factory=dict)

    def licence(self, path: str, root: str, text: str) -> Licence:
        """The licence of the file at `path` with that `text`, within the tree at `root`."""
        tag = licence_of_tag(text)
        if tag is not None:
            return Licence(tag, "tag")
        below = path[len(root) :].lstrip("/").split("/")
        for depth in range(len(below) - 1, -1, -1):
            folder = _join(root, below[:depth])
            child = below[depth] if depth < len(below) - 1 else ""
            found = self._of_folder(folder, child)
            if found is not None:
                shown = "/".join([*below[:depth], found.found_by or ""])
                return Licence(found.expression, shown)
        return Licence(UNKNOWN_LICENCE, None)

    def stamp(self, path: str, root: str) -> str:
        """Changes whenever one of the files that the licence of `path` may be read from does."""
        digest = xxhash.xxh3_64()
        below = path[len(root) :].lstrip("/").split("/")
        for depth in range(len(below)):
            folder = _join(root, below[:depth])
            child = below[depth] if depth < len(below) - 1 else ""
            for name in self._sources_of(folder, child):
                digest.update(f"{'/'.join([*below[:depth], name])} {stamp_of(_join(folder, [name]))}\n".encode())
        return digest.hexdigest()

    def _sources_of(self, folder: str, child: str) -> list[str]:
        names = self._names(folder)
        packages = [name for name in names if name in _PACKAGE_FILES]
        return [*_licence_files(names), *packages, *_distributions(names, child)]

    def _names(self, folder: str) -> Sequence[str]:
        if folder not in self._folders:
            self._folders[folder] = _listed(folder)
        return self._folders[folder]

    def _of_folder(self, folder: str, child: str) -> Licence | None:
        """The licence that a folder states for its files, or for those of its folder `child`; None without one."""
        names = self._names(folder)
        distributions = _distributions(names, child)
        key = (folder, child if distributions else "")
        if key not in self._found:
            self._found[key] = _stated(folder, names, distributions)
        return self._found[key]


def _join(folder: str, parts: Sequence[str]) -> str:
    if not parts:
        return folder or "."
    return "/".join([folder.rstrip("/"), *parts] if folder else parts)


def _listed(folder: str) -> Sequence[str]:
    """The names in a folder, sorted, those of folders with a slash behind."""
    try:
        if is_local(folder):
            with os.scandir(local_path(folder)) as entries:
                return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
        filesystem, inner = filesystem_of(folder)
        found = filesystem.ls(inner, detail=True)
    except OSError:
        return ()
    names = [(each["name"].rstrip("/").rpartition("/")[2], each["type"]) for each in found]
    return sorted(f"{name}/" if kind == "directory" else name for name, kind in names)


def _licence_files(names: Sequence[str]) -> list[str]:
    return [name for name in names if _LICENCE_FILE.fullmatch(name) and not _NOT_A_LICENCE.search(name)]


def _distributions(names: Sequence[str], child: str) -> list[str]:
    """METADATA files of installed packages beside the folder `child` that belong to it by name, or are the only one."""
    found = [name.rstrip("/") for name in names if name.endswith((".dist-info/", ".egg-info/"))]
    own = [name for name in found if _package_name(name.split("-")[0]) == _package_name(child)]
    chosen = own or (found if len(found) == 1 and child else [])
    return [f"{name}/{'METADATA' if name.endswith('.dist-info') else 'PKG-INFO'}" for name in chosen]


def _package_name(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _stated(folder: str, names: Sequence[str], distributions: Sequence[str]) -> Licence | None:
    files = _licence_files(names)
    known: dict[str, str] = {}
    for name in files:
        licence = licence_of_text(_text(_join(folder, [name])))
        if licence is not None:
            known.setdefault(licence, name)
    if known:
        return Licence(_combined(known), ", ".join(sorted(known.values())))
    packages = [name for name in _PACKAGE_FILES if name in names]
    for name in [*packages, *distributions]:
        licence = _of_package(name, _text(_join(folder, [name])))
        if licence is not None:
            return Licence(licence, name)
    return Licence(UNKNOWN_LICENCE, files[0]) if files else None


def _combined(known: dict[str, str]) -> str:
    """Several licences of one folder: a choice when the files are named after them, else all of them hold.

    COPYING beside COPYING.LESSER is how the LGPL is shipped: the terms of the GPL that it refers to, and its own.
    """
    licences = sorted(known)
    lesser = [licence for licence in licences if licence.startswith("LGPL")]
    if lesser and all(licence.startswith(("GPL", "LGPL")) for licence in licences):
        return lesser[0]
    choice = all(_CHOICE.match(name) for name in known.values())
    return (" OR " if choice else " AND ").join(licences)


def _text(path: str) -> str:
    found = stamp_of(path)
    if found is None:
        return ""
    return b"".join(raw_chunks(path, 0, min(found[0], TEXT_BYTES))).decode("utf-8", errors="replace")


def _of_package(name: str, text: str) -> str | None:
    """The licence that a package file states."""
    if name == "package.json":
        return _of_package_json(text)
    if name.endswith(".toml"):
        found = _TOML_FIELD.search(text)
        return None if found is None else licence_of_name(found.group(1))
    head = text.partition("\n\n")[0]
    stated = [value for expression, value in _HEADER.findall(head) if expression]
    stated += _CLASSIFIER.findall(head)
    stated += [value for expression, value in _HEADER.findall(head) if not expression]
    return next((licence for value in stated if (licence := licence_of_name(value.strip())) is not None), None)


def _of_package_json(text: str) -> str | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    stated = content.get("license") if isinstance(content, dict) else None
    if isinstance(stated, dict):
        stated = stated.get("type")
    return licence_of_name(stated) if isinstance(stated, str) else None
