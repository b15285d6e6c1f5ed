"""Training: degenerate classes refused, the same input gives the same model, held-out texts were never learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from tonnage.errors import WorkFailed
from tonnage.quality.model import load_model
from tonnage.quality.score import FOLD, score
from tonnage.quality.train import LabelledText, train_quality
from tonnage.recipe.schema import QualityTraining

SETTINGS = QualityTraining(positive=["good"], negative=["bad"], dim=4, bucket=1000, min_count=1, epochs=20)


def texts(source: str, words: str, count: int, seed: int) -> list[LabelledText]:
    """Documents of ten words each, with line ends and label strings in them (T10)."""
    random = np.random.default_rng(seed)
    ends = ["\n", "\r\n", "\u2028", " __label__negative "]
    result = []
    for index in range(count):
        chosen = random.choice(words.split(), 10).tolist()
        text = f"{ends[index % 4]}".join([*chosen, f"{source}{index}"])
        result.append(LabelledText(source, xxhash.xxh3_128_hexdigest(text.encode()), text))
    return result


GOOD = texts("good", "theorem lemma proof hence let suppose shows given", 200, 1)
BAD = texts("bad", "click here buy now free offer deal given", 200, 2)


def test_the_same_input_gives_the_same_model_and_another_seed_another() -> None:
    first = train_quality(GOOD, BAD, SETTINGS, 5)
    again = train_quality(GOOD, BAD, SETTINGS, 5)
    assert (first.bin, first.card) == (again.bin, again.card)
    assert train_quality(GOOD, BAD, SETTINGS, 6).bin != first.bin


def test_the_order_of_the_documents_does_not_change_the_model() -> None:
    assert train_quality(GOOD, BAD, SETTINGS, 5).bin == train_quality(GOOD[::-1], BAD[::-1], SETTINGS, 5).bin


def test_the_card_tells_sizes_and_held_out_measures(tmp_path: Path) -> None:
    trained = train_quality(GOOD, BAD, SETTINGS, 5)
    held = trained.card["held_out"]
    assert held["documents"] == {"positive": 20, "negative": 20}
    assert trained.card["learned_from"] == 360
    assert held["roc_auc"] > 0.99
    assert sum(row["documents"] for row in held["reliability"]) == 40
    assert held["scores_by_source"]["good"]["p10"] > held["scores_by_source"]["bad"]["p90"]
    (tmp_path / "model.bin").write_bytes(trained.bin)
    column = pa.array(["suppose the lemma shows", "click here, free offer"], pa.large_string())
    high, low = score(load_model(str(tmp_path / "model.bin")), column, normalise=FOLD)
    assert high > 0.9 > 0.1 > low


def test_a_text_in_both_classes_teaches_neither() -> None:
    trained = train_quality([*GOOD, *BAD[:7]], BAD, SETTINGS, 5)
    assert trained.card["in_both_classes"] == 7
    assert trained.card["documents"] == {"positive": 200, "negative": 193}


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("small", ["positive", "negative"])
def test_a_class_without_enough_documents_is_refused_by_name(small: str, count: int) -> None:
    classes = {"positive": GOOD, "negative": BAD}
    classes[small] = classes[small][:count]
    with pytest.raises(WorkFailed, match=f"the {small} class has {count} usable documents"):
        train_quality(classes["positive"], classes["negative"], SETTINGS, 5)


def test_a_class_of_empty_texts_is_refused() -> None:
    empty = [LabelledText("bad", str(index), "... !\n") for index in range(50)]
    with pytest.raises(WorkFailed, match="the negative class has 0 usable documents"):
        train_quality(GOOD, empty, SETTINGS, 5)


def test_a_class_of_one_text_only_is_refused() -> None:
    same = [LabelledText("bad", str(index), "Buy now" + "!" * index) for index in range(50)]
    with pytest.raises(WorkFailed, match="all 50 documents of the negative class are the same"):
        train_quality(GOOD, same, SETTINGS, 5)


def test_a_vocabulary_that_min_count_empties_is_a_sentence() -> None:
    with pytest.raises(WorkFailed, match="lower min_count"):
        train_quality(GOOD, BAD, SETTINGS.model_copy(update={"min_count": 10_000}), 5)
