"""Files written whole or not at all, on local disks and on any fsspec URL.

A file appears under its final name only when every byte is there: temporary name, fsync and rename on a local disk,
one upload on an object store. What a file holds is the business of the modules that call this one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import fsspec
import xxhash

from tonnage.errors import UsageError, WorkFailed

HASH_BLOCK = 4 << 20
TEMPORARY_MARK = ".partial-"


@dataclass(frozen=True)
class FileFact:
    """What is known of one finished file.

    `path` is relative to the run; `bytes` is its size; `xxh3` the hex xxh3_64 of its content; `rows` its number of
    rows (0 where rows mean nothing); `stamp` the modification time in ns or the store's etag, a cache key that lets a
    later run skip hashing a file that nobody touched.
    """

    path: str
    bytes: int
    rows: int
    xxh3: str
    stamp: str


def is_local(url: str) -> bool:
    """True for a plain path or a file:// URL."""
    return "://" not in url or url.startswith(("file://", "local://"))


def local_path(url: str) -> str:
    """The path behind a local URL."""
    return url.split("://", 1)[1] if "://" in url else url


def join(root: str, *parts: str) -> str:
    """`root` and `parts` with single slashes between; works for URLs and paths alike."""
    return "/".join([root.rstrip("/"), *(part.strip("/") for part in parts)])


def filesystem_of(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The fsspec file system of `url` and the path within it.

    Raises UsageError for a protocol that fsspec does not know, or whose own package is not installed.
    """
    try:
        return cast(tuple[fsspec.AbstractFileSystem, str], fsspec.core.url_to_fs(url))
    except (ValueError, ImportError) as fault:
        raise UsageError(
            f"{url} cannot be opened ({fault}); check the protocol, and install the package that serves it"
        ) from fault


def exists(url: str) -> bool:
    """Whether a file or folder of that name is there."""
    if is_local(url):
        return os.path.exists(local_path(url))
    filesystem, path = filesystem_of(url)
    return bool(filesystem.exists(path))


def open_input(url: str) -> BinaryIO:
    """`url` opened for reading bytes, uncompressed as it lies there.

    Raises WorkFailed when it cannot be opened.
    """
    try:
        if is_local(url):
            return open(local_path(url), "rb")
        filesystem, path = filesystem_of(url)
        return cast(BinaryIO, filesystem.open(path, "rb"))
    except OSError as fault:
        raise WorkFailed(
            f"{url} cannot be read ({fault.strerror or fault}); check the path and its permissions"
        ) from fault


@contextlib.contextmanager
def writing(url: str) -> Iterator[BinaryIO]:
    """A binary file object whose content appears as `url` when the block ends well, and not at all otherwise.

    Missing folders are made. Raises WorkFailed when the disk is full or the place cannot be written.
    """
    if not is_local(url):
        with _writing_remote(url) as stream:
            yield stream
        return
    final = local_path(url)
    partial = f"{final}{TEMPORARY_MARK}{uuid.uuid4().hex[:12]}"
    try:
        os.makedirs(os.path.dirname(final) or ".", exist_ok=True)
        with open(partial, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, final)
    except OSError as fault:
        _discard(partial)
        raise _write_fault(url, fault) from fault
    except BaseException:
        _discard(partial)
        raise


@contextlib.contextmanager
def _writing_remote(url: str) -> Iterator[BinaryIO]:
    filesystem, path = filesystem_of(url)
    parent = path.rsplit("/", 1)[0]
    filesystem.makedirs(parent, exist_ok=True)
    stream = filesystem.open(path, "wb", autocommit=False)
    try:
        yield cast(BinaryIO, stream)
        stream.close()
        stream.commit()
    except BaseException:
        with contextlib.suppress(Exception):
            stream.discard()
        raise


def _discard(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _write_fault(url: str, fault: OSError) -> WorkFailed:
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorkFailed(
            f"the disk is full at {url}; free space and give the same command again: finished work is kept"
        )
    return WorkFailed(f"{url} cannot be written ({fault.strerror or fault}); check the folder and its permissions")


def write_bytes(url: str, content: bytes) -> None:
    """`content` as the whole of `url`."""
    with writing(url) as stream:
        stream.write(content)


def read_bytes(url: str) -> bytes:
    """The whole of `url`."""
    with open_input(url) as stream:
        return stream.read()


def stamp_of(url: str) -> tuple[int, str] | None:
    """(size in bytes, stamp) of a file without reading it, None when it is not there."""
    if is_local(url):
        try:
            status = os.stat(local_path(url))
        except OSError:
            return None
        return status.st_size, str(status.st_mtime_ns)
    filesystem, path = filesystem_of(url)
    try:
        facts = filesystem.info(path)
    except FileNotFoundError:
        return None
    mark = facts.get("ETag") or facts.get("etag") or facts.get("mtime") or facts.get("created") or ""
    return int(facts.get("size") or 0), str(mark)


def hash_file(url: str) -> str:
    """Hex xxh3_64 of the content of `url`."""
    digest = xxhash.xxh3_64()
    with open_input(url) as stream:
        while block := stream.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def file_fact(root: str, path: str, rows: int) -> FileFact:
    """The fact of the finished file `path` (relative to `root`), read back from where it lies.

    Raises WorkFailed when the file is missing.
    """
    url = join(root, path)
    found = stamp_of(url)
    if found is None:
        raise WorkFailed(f"{url} vanished after it was written; check whether something else cleans that folder")
    return FileFact(path=path, bytes=found[0], rows=rows, xxh3=hash_file(url), stamp=found[1])


def unchanged(root: str, fact: FileFact, *, thorough: bool = False) -> bool:
    """Whether the file behind `fact` is still the one that was written.

    Size and stamp are enough when they agree; otherwise, or when `thorough`, the content is hashed again.
    """
    url = join(root, fact.path)
    found = stamp_of(url)
    if found is None or found[0] != fact.bytes:
        return False
    if not thorough and fact.stamp and found[1] == fact.stamp:
        return True
    return hash_file(url) == fact.xxh3


def remove_partials(root: str) -> int:
    """Deletes what killed writers left half-written under the local folder `root`; the number of files deleted."""
    if not is_local(root):
        return 0
    count = 0
    for folder, _, names in os.walk(local_path(root)):
        for name in names:
            if TEMPORARY_MARK in name:
                _discard(os.path.join(folder, name))
                count += 1
    return count


def names_in(folder: str) -> list[str]:
    """Names of what lies directly in `folder`, sorted; none when there is no such folder."""
    if not exists(folder):
        return []
    if is_local(folder):
        return sorted(os.listdir(local_path(folder)))
    filesystem, path = filesystem_of(folder)
    return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in filesystem.ls(path, detail=False))


def remove(url: str) -> None:
    """Deletes one file; it is no error when it is not there."""
    with contextlib.suppress(FileNotFoundError):
        if is_local(url):
            os.unlink(local_path(url))
        else:
            filesystem, path = filesystem_of(url)
            filesystem.rm_file(path)


def remove_folder(url: str) -> None:
    """Deletes a folder and all that is in it; it is no error when it is not there."""
    if is_local(url):
        shutil.rmtree(local_path(url), ignore_errors=True)
    elif exists(url):
        filesystem, path = filesystem_of(url)
        filesystem.rm(path, recursive=True)
