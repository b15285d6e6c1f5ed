"""Scores of the collapsed model against fastText's own predict, on models of every supported shape."""

from __future__ import annotations

import itertools
from pathlib import Path
from pydoc_data.topics import topics

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.errors import UsageError
from tonnage.kernels.words import fold_text
from tonnage.quality.model import check_model, huffman_path, load_model
from tonnage.quality.score import FOLD, RAW, score
from tonnage.store.arrow_text import buffers

TOLERANCE = 1e-4
WORDS = [
    "the",
    "of",
    "model",
    "Käse",
    "naïve",
    "你好",
    "שלום",
    "data.",
    "shard,",
    "(token)",
    "a",
    "b",
    "C",
    "__label__p0",
    "__label__nobody",
    "x\x00y",
    "é",
    "ﬂ",
    "🙂",
]


def train(folder: Path, labels: int, **options: object) -> tuple[object, str]:
    """A model over English reference text and odd words; label i gets every i-th document."""
    path = folder / "lines.txt"
    words = [word for word in WORDS if not word.startswith("__label__")]
    documents = [" ".join(text.split()) for text in itertools.islice(topics.values(), 60)]
    with path.open("w", encoding="utf-8") as stream:
        for index, text in enumerate(documents):
            # Uneven counts, so that a Huffman tree is uneven too.
            label = min(index % (labels + 2), labels - 1)
            stream.write(f"__label__p{label} {text[: 200 + 40 * label]} {words[index % len(words)]} word{label}\n")
    settings = {"dim": 5, "epoch": 30, "lr": 1.0, "bucket": 5000, "minCount": 1, "thread": 1, "verbose": 0, **options}
    model = fasttext.train_supervised(str(path), **settings)
    url = str(folder / "model.bin")
    model.save_model(url)
    return model, url


def reference(model: object, line: str, label: str) -> float:
    """fastText's probability of `label`, 0 where it names none (its predict(str) raises under numpy 2)."""
    found = {name: value for value, name in model.f.predict(line + "\n", -1, 0.0, "strict")}
    return found.get(label, 0.0)


def documents() -> list[str]:
    texts = [" ".join(text.split()) for text in itertools.islice(topics.values(), 20, 80)]
    return [
        *texts,
        "",
        "   ",
        "the",
        "unheard-of",
        "word0",
        "word1 word1",
        *WORDS,
        " ".join(WORDS),
        "the  the\tthe\x0bthe\x0cthe\rthe",
    ]


SHAPES = {
    "two labels": (2, {}),
    "two labels, bigrams": (2, {"wordNgrams": 2}),
    "two labels, 4-grams, a power of two of buckets": (2, {"wordNgrams": 4, "bucket": 4096}),
    "two labels, subwords": (2, {"minn": 2, "maxn": 4}),
    "two labels, subwords and bigrams": (2, {"minn": 1, "maxn": 3, "wordNgrams": 2}),
    "five labels": (5, {"wordNgrams": 2}),
    "five labels, subwords": (5, {"minn": 3, "maxn": 5, "wordNgrams": 3}),
    "two labels, hierarchical softmax": (2, {"loss": "hs"}),
    "seven labels, hierarchical softmax, bigrams": (7, {"loss": "hs", "wordNgrams": 2}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_equal_those_of_fasttext(tmp_path: Path, shape: str) -> None:
    labels, options = SHAPES[shape]
    model, url = train(tmp_path, labels, **options)
    texts = documents()
    seen = []
    for label in range(labels):
        scores = score(load_model(url, f"p{label}"), pa.array(texts, pa.large_string()), normalise=RAW)
        expected = [reference(model, text, f"__label__p{label}") for text in texts]
        assert np.abs(scores - expected).max() < TOLERANCE
        seen.extend(expected)
    assert max(seen) - min(seen) > 0.2, "a model that says the same of everything proves nothing"


def test_folded_scores_are_those_of_the_folded_text(tmp_path: Path) -> None:
    model, url = train(tmp_path, 2, wordNgrams=2)
    texts = documents()
    column = pa.array(texts, pa.large_string())
    data, offsets = fold_text(*buffers(column))
    folded = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    expected = [reference(model, text, "__label__p1") for text in folded]
    assert np.abs(score(load_model(url, "p1"), column, normalise=FOLD) - expected).max() < TOLERANCE


@pytest.fixture(scope="module")
def two_labels(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, str]:
    return train(tmp_path_factory.mktemp("model"), 2, wordNgrams=2)


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from("ab_lé你\u2028\t \x00</s>") | st.characters(codec="utf-8"), max_size=60))
def test_any_text_scores_as_fasttext_does(two_labels: tuple[object, str], text: str) -> None:
    model, url = two_labels
    line = text.replace("\n", " ")
    found = score(load_model(url, "p0"), pa.array([text], pa.large_string()), normalise=RAW)
    assert abs(found[0] - reference(model, line, "__label__p0")) < TOLERANCE


@pytest.mark.parametrize("normalise", [FOLD, RAW])
def test_a_score_is_the_same_alone_in_a_batch_and_with_line_ends(
    two_labels: tuple[object, str], normalise: str
) -> None:
    """T10: line feeds, CR LF and U+2028 in texts; a line feed at the end changes nothing."""
    model = load_model(two_labels[1], "p0")
    texts = ["alpha beta", "alpha\nbeta\n", "alpha\r\nbeta\r\n", "x\u2028y", "__label__p0 alpha", "alpha beta\n"]
    together = score(model, pa.array(texts, pa.large_string()), normalise=normalise)
    alone = [score(model, pa.array([text], pa.large_string()), normalise=normalise)[0] for text in texts]
    assert together.tolist() == alone
    assert together[0] == together[1] == together[2] == together[5]


def test_a_label_written_in_a_text_is_no_word_of_it(two_labels: tuple[object, str]) -> None:
    model = load_model(two_labels[1], "p0")
    column = pa.array(["alpha beta", "__label__p0 alpha __label__other beta"], pa.large_string())
    plain, labelled = score(model, column, normalise=RAW)
    assert plain == labelled


def test_a_slice_of_a_column_scores_as_its_own_column(two_labels: tuple[object, str]) -> None:
    model = load_model(two_labels[1], "p0")
    texts = documents()
    column = pa.array(texts, pa.large_string())
    whole = score(model, column, normalise=RAW)
    assert whole[7:11].tolist() == score(model, column.slice(7, 4), normalise=RAW).tolist()
    assert len(score(model, column.slice(0, 0), normalise=FOLD)) == 0


def refusal(url: str, label: str | None = "p0") -> str:
    """The sentence of `check_model`, which `load_model` must give as well."""
    with pytest.raises(UsageError) as first:
        check_model(url, label)
    with pytest.raises(UsageError) as second:
        load_model(url, label)
    assert str(first.value) == str(second.value)
    return str(first.value)


def test_models_that_cannot_be_scored_are_refused(tmp_path: Path, two_labels: tuple[object, str]) -> None:
    for loss in ("ova", "ns"):
        folder = tmp_path / loss
        folder.mkdir()
        assert f"loss {loss}" in refusal(train(folder, 2, loss=loss)[1])
    content = Path(two_labels[1]).read_bytes()
    (tmp_path / "text.bin").write_bytes(b"this is no model at all" * 10)
    assert "is no fastText model" in refusal(str(tmp_path / "text.bin"))
    for size in (4, 40, 200, 3000):
        (tmp_path / "cut.bin").write_bytes(content[:size])
        assert "ends in the middle" in refusal(str(tmp_path / "cut.bin"))
    (tmp_path / "short.bin").write_bytes(content[:-5])
    with pytest.raises(UsageError, match="ends in the middle"):
        load_model(str(tmp_path / "short.bin"), "p0")


def test_a_quantized_model_is_refused(tmp_path: Path) -> None:
    model, _ = train(tmp_path, 2)
    model.quantize(input=str(tmp_path / "lines.txt"))
    model.save_model(str(tmp_path / "model.ftz"))
    assert "quantized" in refusal(str(tmp_path / "model.ftz"))


def test_word_vectors_are_refused(tmp_path: Path) -> None:
    train(tmp_path, 2)
    model = fasttext.train_unsupervised(str(tmp_path / "lines.txt"), dim=4, epoch=1, thread=1, bucket=100, verbose=0)
    model.save_model(str(tmp_path / "vectors.bin"))
    assert "word vectors" in refusal(str(tmp_path / "vectors.bin"))


def test_an_unknown_label_is_refused_with_the_labels_there_are(two_labels: tuple[object, str]) -> None:
    assert "p1, p0" in refusal(two_labels[1], "p9")
    assert "is not given" in refusal(two_labels[1], None)


def test_a_huffman_path_ends_at_the_root_with_one_node_a_level() -> None:
    counts = [50, 20, 10, 10, 5, 5]
    paths = [huffman_path(counts, label) for label in range(len(counts))]
    assert all(nodes[-1] == len(counts) - 2 for nodes, _ in paths)
    # The probabilities of the leaves of a tree sum to one whatever its nodes say.
    chances = np.random.default_rng(1).uniform(0.1, 0.9, len(counts))
    total = sum(
        np.prod([chances[node] if sign > 0 else 1 - chances[node] for node, sign in zip(*path, strict=True)])
        for path in paths
    )
    assert total == pytest.approx(1)
