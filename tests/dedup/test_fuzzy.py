"""Fuzzy duplicates through whole runs: short texts, templates, one survivor always, planted near-duplicates."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support import english, near_duplicates, shingling
from support.serial import run_texts, selected, survivors

from tonnage.errors import UsageError, WorkFailed
from tonnage.inspect.view import RunView
from tonnage.plan import FUZZY
from tonnage.store.documents import read_table
from tonnage.store.files import join
from tonnage.store.receipts import read_manifest

FUZZY_ONLY = {"exact": {}, "fuzzy": {}}
ACKNOWLEDGED = {"acknowledge": ["fuzzy-duplicate:web", "fuzzy-group:web"]}


def words(count: int, chance: random.Random) -> str:
    return " ".join(f"w{chance.randrange(10**9)}" for _ in range(count))


def evidence(view: RunView) -> list[dict[str, object]]:
    """The fuzzy columns of every document, in the order of addresses."""
    return [row for place in view.shards() for row in read_table(join(view.root, place.path(FUZZY))).to_pylist()]


def summary(view: RunView) -> dict[str, object]:
    manifest = read_manifest(view.root, FUZZY, view.key(FUZZY))
    assert manifest is not None
    return next(task["counts"] for task in manifest["tasks"] if task["task"] == "summary")


def test_short_texts_are_left_to_exact_duplicates(tmp_path: Path) -> None:
    """T5: texts shorter than a shingle do not collapse onto one another."""
    texts = ["cat", "dog", "cat", "a b c d", "e f g h", "", ""]
    view = run_texts(tmp_path, {"web": [texts]}, FUZZY_ONLY)
    reasons = [reason for _, reason, _ in selected(view)]
    assert reasons == [None, None, "exact-duplicate", None, None, "empty", "empty"]


def templates(header_words: int, own_words: int, chance: random.Random) -> list[str]:
    header = words(header_words, chance)
    return [f"{header} {words(own_words, chance)}" for _ in range(2000)]


def one_word_changed(text: str, chance: random.Random) -> str:
    parts = text.split(" ")
    parts[chance.randrange(len(parts))] = words(1, chance)
    return " ".join(parts)


@pytest.mark.parametrize(("own_words", "similarity"), [(40, 0.49), (20, 0.66)])
def test_templated_pages_survive(tmp_path: Path, own_words: int, similarity: float) -> None:
    """T6: pages that share a long header stay, near-copies among them fall."""
    chance = random.Random(own_words)
    pages = templates(80, own_words, chance)
    originals = [words(200, chance) for _ in range(20)]
    copies = [one_word_changed(text, chance) for text in originals]
    found = shingling.jaccard(*(shingling.shingles(text) for text in pages[:2]))
    assert abs(found - similarity) < 0.05
    dedup = {"fuzzy": {"verify": {"jaccard": 0.8}}}
    view = run_texts(tmp_path, {"web": [[*pages, *originals], copies]}, dedup)
    decided = selected(view)
    assert all(reason is None for _, reason, _ in decided[:2000])
    pairs = [{reason for _, reason, _ in decided[at : at + 1]} for at in range(2000, 2040)]
    assert sum(reasons == {"fuzzy-duplicate"} for reasons in pairs) == 20
    unchecked = {"fuzzy": {"verify": False}}
    with pytest.raises(WorkFailed, match=r"fuzzy-(group|duplicate):web"):
        run_texts(tmp_path, {"web": [[*pages, *originals], copies]}, unchecked, out="unchecked")


def variants(chance: random.Random) -> list[list[str]]:
    """60 groups of 5 variants and 100 singles in 8 files."""
    originals = [words(200, chance) for _ in range(60)]
    texts = [one_word_changed(text, chance) for text in originals for _ in range(5)]
    texts += [words(200, chance) for _ in range(100)]
    chance.shuffle(texts)
    return [texts[start : start + 50] for start in range(0, 400, 50)]


def longest_first(files: list[list[str]]) -> set[str]:
    """Ids that survive by the stated rule: of each group the longest text, of equally long ones the first."""
    flat = [(f"web{number}.{row}", text) for number, texts in enumerate(files) for row, text in enumerate(texts)]
    order = sorted(range(len(flat)), key=lambda place: (-len(flat[place][1].encode()), place))
    verdicts = shingling.falls([flat[place][1] for place in order], 0.75)
    return {flat[place][0] for place, kept in zip(order, verdicts, strict=True) if kept is None}


@pytest.mark.parametrize("verify", [{}, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_document_of_each_group_survives(tmp_path: Path, verify: object, seed: int) -> None:
    """T7: for three seeds of the hash functions, tasks in their order and reversed, files in both orders."""
    files = variants(random.Random(7))
    dedup = {"fuzzy": {"verify": verify, "seed": seed}}
    for number, ordered in enumerate([files, files[::-1]]):
        expected = longest_first(ordered)
        assert len(expected) == 160
        for reverse in (False, True):
            folder = tmp_path / f"{number}{reverse}"
            folder.mkdir()
            view = run_texts(folder, {"web": ordered}, dedup, reverse=reverse, **ACKNOWLEDGED)
            assert set(survivors(view)) == expected
            counts = summary(view)
            assert counts["removed"] == 240 == counts["members"] - counts["stay"]
            assert counts["clusters"] == {"5": 60}


def test_planted_near_duplicates_are_found_and_nothing_else_falls(tmp_path: Path) -> None:
    """Against brute force over 5,000 documents of real text, no candidate left out."""
    texts = near_duplicates.corpus(near_duplicates.pieces_of(english.english_documents(), 120), 5000, seed=3)
    view = run_texts(tmp_path, {"web": [texts[:2000], texts[2000:]]}, {"fuzzy": {}}, **ACKNOWLEDGED)
    sets = [shingling.shingles(text) for text in texts]
    rows = evidence(view)
    fallen = {place for place, row in enumerate(rows) if row["duplicate_row"] is not None}
    for place in fallen:
        row = rows[place]
        kept = row["duplicate_row"] + (2000 if row["duplicate_shard"] else 0)
        assert kept not in fallen
        assert row["containment"] == pytest.approx(shingling.containment(sets[place], sets[kept]))
        assert row["jaccard"] == pytest.approx(shingling.jaccard(sets[place], sets[kept]))
        assert row["containment"] >= 0.75
        assert row["duplicate_source_id"] == f"web{row['duplicate_shard']}.{row['duplicate_row']}"
    order = sorted(range(len(texts)), key=lambda place: (-len(texts[place].encode()), place))
    verdicts = shingling.falls([texts[place] for place in order], 0.75)
    high = {
        order[index]
        for index, kept in enumerate(verdicts)
        if kept is not None and shingling.containment(sets[order[index]], sets[order[kept]]) >= 0.85
    }
    assert len(high) > 500
    assert len(fallen & high) / len(high) >= 0.95


def test_a_document_never_falls_along_a_chain(tmp_path: Path) -> None:
    """B is contained in A and C in B, but C not in A: B falls, C stays."""
    common, own, new = words(100, random.Random(1)), words(40, random.Random(2)), words(25, random.Random(3))
    a, b, c = f"{common} {own}", f"{common} {new}", f"{' '.join(common.split()[50:])} {new}"
    view = run_texts(tmp_path, {"web": [[a, b, c]]}, {"fuzzy": {"rows": 1, "bands": 112}}, **ACKNOWLEDGED)
    assert shingling.containment(shingling.shingles(c), shingling.shingles(a)) < 0.75
    assert survivors(view) == ["web0.0", "web0.2"]
    assert evidence(view)[1]["duplicate_row"] == 0 and evidence(view)[2]["duplicate_row"] is None


def test_sources_come_first_then_longer_texts(tmp_path: Path) -> None:
    text = words(100, random.Random(1))
    sources = {"short": [[text]], "long": [[text + " " + words(5, random.Random(2))]]}
    view = run_texts(tmp_path, sources, {"fuzzy": {}}, acknowledge=["fuzzy-duplicate:long", "nothing-kept:long"])
    assert survivors(view) == ["short0.0"]
    assert summary(view)["pairs"] == {"long": {"short": 1}}
    turned = dict(reversed(sources.items()))
    again = {"acknowledge": ["fuzzy-duplicate:short", "nothing-kept:short"]}
    view = run_texts(tmp_path, turned, {"fuzzy": {}}, out="turned", **again)
    assert survivors(view) == ["long0.0"]


def test_documents_of_other_sources_stay_when_kept_per_source(tmp_path: Path) -> None:
    text = words(100, random.Random(1))
    near = one_word_changed(text, random.Random(2))
    sources = {"a": [[text, near]], "b": [[text, near]]}
    dedup = {"fuzzy": {"keep": "per-source"}}
    view = run_texts(tmp_path, sources, dedup)
    assert [name[0] for name in survivors(view)] == ["a", "b"]


def test_exempt_sources_take_no_part(tmp_path: Path) -> None:
    text = words(100, random.Random(1))
    sources = {"templates": [[text, one_word_changed(text, random.Random(2))]], "web": [[text]]}
    view = run_texts(tmp_path, sources, {"fuzzy": {"exempt": ["templates"]}})
    assert len(survivors(view)) == 3
    assert all(row["group"] is None for row in evidence(view))


def test_a_document_that_a_rule_drops_lets_its_near_copy_stay(tmp_path: Path) -> None:
    text = words(100, random.Random(1))
    rule = {"select": [{"name": "long", "drop": "words > 100"}]}
    view = run_texts(tmp_path, {"web": [[f"{text} more", text]]}, {"fuzzy": {}}, **rule)
    assert survivors(view) == ["web0.1"]


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ([[words(50, random.Random(number)) for number in range(5)]], 5),
        ([["only " + words(50, random.Random(1))]], 1),
        ([[words(50, random.Random(1))] * 40, [words(50, random.Random(1))] * 40], 1),
        ([["", ""], [""]], 0),
        ([[]], 0),
    ],
    ids=["no duplicates", "one document", "all equal", "empty texts", "no documents"],
)
@pytest.mark.parametrize("exact", [True, False])
def test_corpora_at_the_edge(tmp_path: Path, files: list[list[str]], kept: int, exact: bool) -> None:
    dedup = FUZZY_ONLY if exact else {"fuzzy": {}}
    names = ["exact-duplicate:web", "fuzzy-duplicate:web", "fuzzy-group:web", "nothing-kept:web", "empty:web"]
    if not any(files):
        with pytest.raises(WorkFailed, match="no row was read"):
            run_texts(tmp_path, {"web": files}, dedup, acknowledge=names)
        return
    view = run_texts(tmp_path, {"web": files}, dedup, acknowledge=names)
    assert len(survivors(view)) == kept
    assert summary(view)["removed"] == (79 if len(files) == 2 and kept and not exact else 0)


def test_bands_that_miss_the_threshold_are_refused_unless_forced(tmp_path: Path) -> None:
    dedup = {"fuzzy": {"bands": 4, "rows": 28, "verify": {"jaccard": 0.8}}}
    with pytest.raises(UsageError, match=r"4 bands x 28 rows .* match curve is 0\.5: 0\.000, .* 1: 1\.000; take fewer"):
        run_texts(tmp_path, {"web": [["a"]]}, dedup)
    dedup["fuzzy"]["force"] = True
    run_texts(tmp_path, {"web": [["a"]]}, dedup)


def test_a_second_run_does_nothing_and_leaves_no_exchange(tmp_path: Path) -> None:
    texts = [words(60, random.Random(number)) for number in range(6)]
    view = run_texts(tmp_path, {"web": [texts]}, FUZZY_ONLY)
    before = {path: path.stat().st_mtime_ns for path in Path(view.root).rglob("*") if path.name != "run.json"}
    assert not list(Path(view.root).glob("exchange/*"))
    run_texts(tmp_path, {"web": [texts]}, FUZZY_ONLY)
    assert before == {path: path.stat().st_mtime_ns for path in Path(view.root).rglob("*") if path.name != "run.json"}


def test_other_bands_of_as_many_places_scan_no_text(tmp_path: Path) -> None:
    texts = [words(60, random.Random(number)) for number in range(6)]
    view = run_texts(tmp_path, {"web": [texts]}, {"fuzzy": {"bands": 14, "rows": 8}})
    key = view.key("signatures")
    again = run_texts(tmp_path, {"web": [texts]}, {"fuzzy": {"bands": 16, "rows": 7}})
    assert again.key("signatures") == key and again.key(FUZZY) != view.key(FUZZY)


def test_the_largest_group_is_an_alarm_unless_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(3)
    text = words(100, chance)
    texts = [text + f" {number}" for number in range(30)] + [words(100, chance) for _ in range(100)]
    with pytest.raises(WorkFailed, match=r"29 of 130 documents fall as fuzzy duplicates of one \(web/00000 row \d+\)"):
        run_texts(tmp_path, {"web": [texts]}, {"fuzzy": {}})
    run_texts(tmp_path, {"web": [texts]}, {"fuzzy": {}}, acknowledge=["fuzzy-group:web"])
