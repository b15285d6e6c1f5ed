"""A run within the test's own process: tasks one after another, in their order or reversed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tonnage.engines.progress import progress_on
from tonnage.inspect.view import RunView, open_run
from tonnage.plan import make_plan
from tonnage.recipe import Recipe
from tonnage.run import Context, execute
from tonnage.store.documents import read_table
from tonnage.store.files import join
from tonnage.store.layout import documents_path, selection_path


class SerialEngine:
    def __init__(self, *, reverse: bool = False) -> None:
        self._reverse = reverse

    def each(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        label: Callable[[Any], str],
        on_part: Callable[[int, Any], None] | None = None,
    ) -> Iterator[tuple[int, Any]]:
        places = range(len(tasks))
        for index in reversed(places) if self._reverse else places:
            result = function(tasks[index])
            yield index, _last(result) if isinstance(result, Generator) else result


def _last(work: Generator[Any, None, Any]) -> Any:
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


Sources = Mapping[str, Sequence[Sequence[str]]]  # texts by source and file


def run_texts(
    folder: Path,
    sources: Sources,
    dedup: Mapping[str, Any],
    *,
    out: str = "run",
    reverse: bool = False,
    **recipe: Any,
) -> RunView:
    """The run of `sources`, one documents shard a file, through `dedup`, up to its selection."""
    content: dict[str, Any] = {"name": "small", "sources": {}, "dedup": dict(dedup), **recipe}
    for name, files in sources.items():
        paths = []
        for number, texts in enumerate(files):
            lines = [json.dumps({"id": f"{name}{number}.{i}", "text": text}) for i, text in enumerate(texts)]
            path = folder / f"{name}-{number:03d}.jsonl.gz"  # packed files are not cut: one documents shard each
            packed = gzip.compress("\n".join(lines).encode(), mtime=0)
            if not path.exists() or path.read_bytes() != packed:
                path.write_bytes(packed)
            paths.append(str(path))
        content["sources"][name] = {"kind": "jsonl", "path": paths, "task_bytes": 1, "max_rejects": 1}
    root = str(folder / out)
    with progress_on(io.StringIO()) as progress:
        execute(Context(root, make_plan(Recipe.model_validate(content)), SerialEngine(reverse=reverse), progress))
    return open_run(root)


def selected(view: RunView) -> list[tuple[str, str | None, str]]:
    """(user's id, reason, text) of every document, in the order of addresses."""
    result = []
    for place in view.shards():
        documents = read_table(join(view.root, documents_path(place.source, place.shard)), ["source_id", "text"])
        selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)))
        rows = zip(*(documents.column(name).to_pylist() for name in ("source_id", "text")), strict=True)
        result += [
            (name, reason, text)
            for (name, text), reason in zip(rows, selection.column("reason").to_pylist(), strict=True)
        ]
    return result


def survivors(view: RunView) -> list[str]:
    """User's ids of the documents that are kept."""
    return [name for name, reason, _ in selected(view) if reason is None]
