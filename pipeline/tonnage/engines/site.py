"""What every node of a cluster must share with the machine a run is started on, and a sentence for what it does not.

The same Tonnage and Python, the folder of the run, and the raw input: a worker that wrote to a disk of its own would
leave a run without its files. Which nodes there are and how they are asked is the engine's.
"""

from __future__ import annotations

import contextlib
import os
import platform
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import tonnage
from tonnage.errors import TonnageError
from tonnage.store.files import TEMPORARY_MARK, is_local, join, local_path, read_bytes, remove, stamp_of, write_bytes

SHARE = "put it on a file system that all nodes mount at the same place, or give an fsspec URL such as s3://"


@dataclass(frozen=True)
class Site:
    """`root` is the run, `folder` where its relative paths begin, `inputs` a few raw files and their sizes in bytes."""

    root: str
    inputs: Mapping[str, int] = field(default_factory=dict)
    folder: str = field(default_factory=os.getcwd)
    version: str = tonnage.__version__
    python: str = field(default_factory=lambda: _minor(platform.python_version()))
    probe: str = ""  # name of a file in `root` that holds this name

    @contextlib.contextmanager
    def probed(self) -> Iterator[Site]:
        """This site with a probe file in its folder, which is deleted afterwards."""
        name = f"probe{TEMPORARY_MARK}{uuid.uuid4().hex[:12]}"
        write_bytes(join(self.root, name), name.encode())
        try:
            yield replace(self, probe=name)
        finally:
            remove(join(self.root, name))


def enter(folder: str) -> None:
    """Makes relative paths mean here what they mean where the run was started.

    A node without that folder is fit for runs with absolute paths and URLs only; `lacking` tells.
    """
    with contextlib.suppress(OSError):
        os.chdir(folder)


def lacking(site: Site) -> str | None:
    """What this node lacks of the site, as the end of a sentence about the node; None when nothing is."""
    here = _minor(platform.python_version())
    if here != site.python:
        return f"runs Python {here}, the run Python {site.python}; give all nodes the same"
    if tonnage.__version__ != site.version:
        return f"has tonnage {tonnage.__version__}, the run tonnage {site.version}; install the same on all nodes"
    enter(site.folder)
    if _relative(site) and os.getcwd() != site.folder:
        return f"has no folder {site.folder}, where the run was started; mount it there, or use absolute paths"
    if not _sees_probe(site):
        return f"does not see the folder of the run, {site.root}; {SHARE}"
    for path, size in site.inputs.items():
        found = stamp_of(path)
        if found is None or found[0] != size:
            return f"does not see the input file {path} as it is where the run was started; {SHARE}"
    return None


def _relative(site: Site) -> bool:
    return any(is_local(path) and not os.path.isabs(local_path(path)) for path in (site.root, *site.inputs))


def _sees_probe(site: Site) -> bool:
    try:
        return read_bytes(join(site.root, site.probe)) == site.probe.encode()
    except (OSError, TonnageError):
        return False


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
