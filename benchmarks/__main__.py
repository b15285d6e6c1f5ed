"""`make bench`: ratios against peers on real text of this machine, both sides in one run, one thread each.

Documents are the standard library's reference topics and source files; what is measured and how is in bench_*.py.
"""

from __future__ import annotations

import os

# Before any import that starts threads: every library measured here gets one.
os.environ.update({"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"})

import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks import bench_heuristics, bench_quality, bench_tokenize
from rich.console import Console
from rich.table import Table

SOURCE_BYTES = 4_000_000


def source_files() -> list[str]:
    """Source files of the standard library up to SOURCE_BYTES."""
    found = []
    room = SOURCE_BYTES
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        room -= len(text.encode())
        if room < 0:
            break
        found.append(text)
    return found


def main() -> None:
    table = Table(title="Tonnage beside its peers, MB/s of UTF-8 text", title_justify="left")
    table.add_column("what")
    for name in ("ours", "theirs", "ratio", "target"):
        table.add_column(name, justify="right")
    prose, code = list(topics.values()), source_files()
    rows = [
        *bench_heuristics.run([*prose, *code]),
        *bench_quality.run(prose, code),
        *bench_tokenize.run([*prose, *code]),
    ]
    for row in rows:
        numbers = (row["ours_mb_s"], row["theirs_mb_s"], row["ratio"], row["target"])
        table.add_row(row["what"], *("-" if number is None else f"{number:,.1f}" for number in numbers))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
