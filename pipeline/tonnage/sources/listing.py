"""The files of a source and the tasks that read them, the same whatever order a file system lists them in.

`list_files` looks at the disk; `plan_tasks` is a function of what it found. Reading is for the other modules.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from tonnage.errors import UsageError, WorkFailed
from tonnage.sources.containers import PLAIN, named_container
from tonnage.sources.globs import excluder, files_below, has_magic, split_root
from tonnage.sources.licences import LicenceFinder
from tonnage.sources.spec import PER_DOCUMENT, SourceSpec, expand
from tonnage.store.files import filesystem_of, is_local, local_path, stamp_of

EXPANSION = 4  # about what zstd and gzip make of text: a compressed file counts so many times its size in a task
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class InputFile:
    """One raw file. `path` opens it; `name` is its path below the common root of the source, the `file` of documents.

    `stamp` changes whenever what is read from a file of the same size may: it holds the store's own stamp, the name,
    and for code with licences of its own the files that its licence is read from.
    """

    path: str
    bytes: int
    stamp: str
    name: str


@dataclass(frozen=True)
class Piece:
    """The bytes [start, end) of one file as it lies there; whole files but for plain JSONL and Parquet."""

    path: str
    start: int
    end: int
    name: str

    @property
    def root(self) -> str:
        """The folder that `name` is below."""
        root = self.path[: len(self.path) - len(self.name)]
        return root.rstrip("/") or root[:1]


@dataclass(frozen=True)
class ReadTask:
    """What one documents shard is read from."""

    source: str
    shard: int
    kind: str
    pieces: tuple[Piece, ...]


def size_of(path: str) -> int:
    """The size of a file in bytes. Raises WorkFailed when it is not there any more."""
    found = stamp_of(path)
    if found is None:
        raise WorkFailed(f"{path} is not there any more; let nothing change the input during a run")
    return found[0]


@dataclass(frozen=True)
class Listing:
    """The files of a source, sorted by path, and how many each pattern of `exclude` left out, the first that fits."""

    files: tuple[InputFile, ...]
    excluded: Mapping[str, int]


def list_files(spec: SourceSpec) -> Listing:
    """What a source reads.

    A path may be a file, a folder (all files below it) or a glob; ~ and {stdlib} are replaced. Hidden files and folders
    and Python's cache folders are left out, unless a pattern names them. Links are followed, but not in trees of code.
    A file that several paths name is read once, however they spell it.

    Raises UsageError when a path is missing, a glob matches nothing, a file cannot be read, or `exclude` leaves
    nothing.
    """
    found: dict[str, str] = {}
    roots: list[str] = []
    for written in spec.paths:
        try:
            root, paths = _files_of(spec, expand(written), written)
        except OSError as fault:
            raise UsageError(
                f"sources.{spec.name}.path: {written} cannot be listed ({fault.strerror or fault}); check the path and "
                f"its permissions"
            ) from fault
        roots.append(root)
        for path in paths:
            place = os.path.abspath(local_path(path)) if is_local(path) else path
            found[place] = min(path, found.get(place, path), key=lambda spelled: (len(spelled), spelled))
    common = _common_root(roots)
    pattern_of = excluder(spec.exclude)
    names = {path: path[len(common) :].lstrip("/") for path in found.values()}
    pattern = {path: pattern_of(names[path]) for path in names}
    kept = sorted(path for path in names if pattern[path] is None)
    if not kept:
        raise UsageError(f"sources.{spec.name}.exclude leaves none of its {len(found)} files; mend its patterns")
    files = _with_licences(spec, [_input_file(spec, path, names[path]) for path in kept], common)
    counted = Counter(pattern.values())
    return Listing(tuple(files), {written: counted[written] for written in spec.exclude})


def _files_of(spec: SourceSpec, path: str, written: str) -> tuple[str, list[str]]:
    """(root, files) of one path of the recipe."""
    follow = spec.kind != "code"
    if has_magic(path) and not _is_there(path):
        root, pattern = split_root(path)
        if not _is_folder(root or "."):
            raise UsageError(f"sources.{spec.name}.path: {written} matches nothing, {root} is no folder")
        files = [_joined(root, below) for below in files_below(root, pattern, follow_links=follow)]
        if not files:
            raise UsageError(f"sources.{spec.name}.path: {written} matches no file; check the pattern")
        return root, files
    if _is_folder(path):
        root = path.rstrip("/") or "/"
        files = [_joined(root, below) for below in files_below(root, None, follow_links=follow)]
        if not files:
            raise UsageError(f"sources.{spec.name}.path: the folder {written} holds no file")
        return root, files
    if not _is_there(path):
        raise UsageError(f"sources.{spec.name}.path: {written} does not exist; check the path")
    if is_local(path) and not os.path.isfile(local_path(path)):
        raise UsageError(f"sources.{spec.name}.path: {written} is neither a file nor a folder")
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ""), [path]


def _is_there(path: str) -> bool:
    if is_local(path):
        return os.path.exists(local_path(path))
    filesystem, inner = filesystem_of(path)
    return bool(filesystem.exists(inner))


def _is_folder(path: str) -> bool:
    if is_local(path):
        return os.path.isdir(local_path(path))
    filesystem, inner = filesystem_of(path)
    return bool(filesystem.isdir(inner.rstrip("/")))


def _joined(root: str, below: str) -> str:
    return f"{root}/{below}" if root and not root.endswith("/") else f"{root}{below}"


def _common_root(roots: Sequence[str]) -> str:
    """The longest folder that all of `roots` lie in; empty when there is none."""
    if len(set(roots)) == 1:
        return roots[0]
    schemes = {root.partition("://")[0] for root in roots if "://" in root}
    if schemes and (len(schemes) > 1 or not all("://" in root for root in roots)):
        return ""
    parts = [root.split("/") for root in roots]
    same = takewhile(lambda level: len(set(level)) == 1, zip(*parts, strict=False))
    common = "/".join(level[0] for level in same)
    return "" if common.endswith(":/") or common.endswith(":") else common


def _input_file(spec: SourceSpec, path: str, name: str) -> InputFile:
    found = stamp_of(path)
    if found is None or (is_local(path) and not os.access(local_path(path), os.R_OK)):
        raise UsageError(f"sources.{spec.name}: {path} cannot be read; check its permissions or exclude it")
    shown = _SURROGATE.sub("\ufffd", name)  # a name that is no UTF-8; as many characters as before
    return InputFile(path, found[0], f"{found[1]} {shown}", shown)


def _with_licences(spec: SourceSpec, files: Sequence[InputFile], common: str) -> Iterable[InputFile]:
    if spec.kind != "code" or spec.license != PER_DOCUMENT:
        return files
    finder = LicenceFinder()
    return [
        InputFile(file.path, file.bytes, f"{file.stamp} {finder.stamp(file.path, common)}".rstrip(), file.name)
        for file in files
    ]


def plan_tasks(spec: SourceSpec, files: Sequence[InputFile]) -> tuple[ReadTask, ...]:
    """Tasks of about `task_bytes`, in the order of the files: large files cut where their kind allows, small ones
    together.

    JSONL without a container is cut by bytes: a line is read where it begins. Parquet likewise: a row group is read
    where it begins. All else stays whole. A pure function of its arguments.
    """
    tasks: list[tuple[Piece, ...]] = []
    group: list[Piece] = []
    weight = 0
    for piece, piece_weight in _pieces(spec, files):
        if group and weight + piece_weight > spec.task_bytes:
            tasks.append(tuple(group))
            group, weight = [], 0
        group.append(piece)
        weight += piece_weight
    if group:
        tasks.append(tuple(group))
    return tuple(ReadTask(spec.name, shard, spec.kind, pieces) for shard, pieces in enumerate(tasks))


def _pieces(spec: SourceSpec, files: Sequence[InputFile]) -> Iterator[tuple[Piece, int]]:
    """(piece, its weight in a task) in order."""
    for file in files:
        packed = named_container(file.path) != PLAIN
        whole = packed or spec.kind not in ("jsonl", "parquet") or file.bytes <= spec.task_bytes
        if whole:
            yield Piece(file.path, 0, file.bytes, file.name), file.bytes * (EXPANSION if packed else 1)
            continue
        count = -(-file.bytes // spec.task_bytes)
        bounds = [file.bytes * index // count for index in range(count + 1)]
        for start, end in pairwise(bounds):
            yield Piece(file.path, start, end, file.name), end - start
