"""The recipe's schema: what may be written, its defaults, and what each option changes.

Every model refuses unknown keys and is frozen. Loading, line numbers and `--set` are in load.py; what the options do is
in the stages that take them.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.]*(-[A-Za-z0-9_.]+)*$"
SCALES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def parse_amount(value: Any) -> Any:
    """An integer from 18.75T, 300B, 20M, 64K or a plain number; exact, in decimal thousands."""
    if isinstance(value, bool):
        raise ValueError("needs a number such as 18.75T, 300B or 20M")
    if isinstance(value, float) and value != int(value):
        raise ValueError("needs a whole number, or one with a scale such as 18.75T")
    if not isinstance(value, str):
        return int(value) if isinstance(value, float) else value
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?\s*([kmbgtKMBGT]?)", value.strip())
    if match is None:
        raise ValueError("needs a number such as 18.75T, 300B or 20M")
    whole, fraction, scale = match.group(1), match.group(2) or "", SCALES[match.group(3).lower()]
    numerator = int(whole + fraction) * scale
    if numerator % 10 ** len(fraction):
        raise ValueError("needs a whole number of tokens")
    return numerator // 10 ** len(fraction)


Amount = Annotated[int, BeforeValidator(parse_amount), Field(gt=0)]


def check_name(name: str) -> str:
    """Names become folders, files and parts of cells. Raises ValueError for one that cannot."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise ValueError(f"name {name!r} may hold letters, digits, '_', '.' and single '-' inside only")
    return name


Name = Annotated[str, AfterValidator(check_name)]
CellDimension = Literal["source", "quality", "kind", "language"]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Source(Model):
    """One source of raw documents. Sources are ordered as listed: of exact duplicates the first source's stays."""

    kind: Literal["jsonl", "parquet", "text", "html", "code"]
    path: str | list[str]
    text: str = Field("text", description="field that holds the text (jsonl, parquet); dots reach into nested fields")
    template: str | None = Field(None, description="text made of several fields, such as '{title}\\n\\n{body}'")
    id: str | None = Field("id", description="field with your own id, kept as source_id")
    url: str | None = Field("url", description="field with the document's URL")
    timestamp: str | None = Field("timestamp", description="field with the document's date")
    license: str = Field("unknown", description="an SPDX expression for all, 'unknown', or 'per-document'")
    license_field: str | None = Field("license", description="field with the licence when license is per-document")
    language: Name | None = Field(None, description="declared language (ISO 639-1); language-bound rules need it")
    encoding: str | None = Field(None, description="charset of text files; detected when not given")
    extract: Literal["resiliparse"] = "resiliparse"
    exclude: list[str] = Field(
        default_factory=list,
        description="globs of files to leave out: names anywhere, or with a slash paths below the paths' common folder",
    )
    on_damaged: Literal["fail", "skip-file", "keep-prefix"] = "skip-file"
    max_rejects: float = Field(0.05, ge=0, le=1, description="share of rejected rows that fails the run")
    max_document_bytes: Amount = 64 << 20
    task_bytes: Amount = 256 << 20

    @field_validator("path")
    @classmethod
    def _has_a_path(cls, value: str | list[str]) -> str | list[str]:
        if not value or any(not part for part in value):
            raise ValueError("needs a path or a glob")
        return value

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)


class Heuristics(Model):
    """Document statistics and repetition measures; no options: rules decide over its columns."""


class QualityTraining(Model):
    """A fastText classifier trained from sources of this recipe."""

    positive: list[str] = Field(min_length=1)
    negative: list[str] = Field(min_length=1)
    dim: int = Field(16, ge=1, le=300)
    word_ngrams: int = Field(2, ge=1, le=5)
    epochs: int = Field(5, ge=1, le=100)
    learning_rate: float = Field(0.5, gt=0)
    bucket: int = Field(200_000, ge=1)
    min_count: int = Field(2, ge=1)
    max_documents_per_class: int = Field(100_000, ge=2)
    max_bytes_per_class: Amount = 256 << 20
    holdout: float = Field(0.1, gt=0, lt=0.9)


class Quality(Model):
    """The quality score: train a classifier, or bring a fastText .bin by path and hash."""

    train: QualityTraining | None = None
    model: str | None = Field(None, description="path of a fastText .bin (supervised)")
    xxh3: str | None = Field(None, description="hex xxh3_64 of the model file; refused when it differs")
    label: str | None = Field(None, description="label whose probability is the score (model:)")
    normalise: Literal["fold", "raw"] = Field("fold", description="text the model was trained on (model:)")
    buckets: int = Field(5, ge=1, le=100)
    edges: list[float] | None = Field(None, description="fixed bucket edges instead of quantiles")

    @model_validator(mode="after")
    def _one_origin(self) -> Quality:
        if (self.train is None) == (self.model is None):
            raise ValueError("needs exactly one of train and model")
        if self.edges is not None and (self.edges != sorted(self.edges) or len(self.edges) != self.buckets - 1):
            raise ValueError(f"edges must be {self.buckets - 1} rising numbers for {self.buckets} buckets")
        return self


class Annotate(Model):
    heuristics: Heuristics = Heuristics()
    quality: Quality | None = None


class Exact(Model):
    """Exact duplicates by id; of each group the first by source order, then address, stays."""


class Verify(Model):
    """What proves a fuzzy duplicate: containment in one kept document (0.75 if nothing is given), or Jaccard."""

    containment: Annotated[
        float | None, Field(gt=0, le=1, description="shared shingles / those of the one that falls")
    ] = None
    jaccard: Annotated[float | None, Field(gt=0, le=1, description="shared shingles / those of both")] = None

    @model_validator(mode="after")
    def _one_measure(self) -> Verify:
        if self.containment is not None and self.jaccard is not None:
            raise ValueError("takes one of containment and jaccard, not both")
        return self

    @property
    def measure(self) -> str:
        return "jaccard" if self.jaccard is not None else "containment"

    @property
    def threshold(self) -> float:
        return self.jaccard or self.containment or 0.75


class Fuzzy(Model):
    """Fuzzy duplicates: MinHash proposes, a document falls only when one kept document contains enough of it."""

    ngram: int = Field(5, ge=1, le=20, description="words in a shingle")
    bands: int = Field(14, ge=1, le=1000)
    rows: int = Field(8, ge=1, le=100, description="places of the signature in a band; it has bands x rows of them")
    arrangements: int = Field(2, ge=1, le=16, description="orders in which the places are cut into bands")
    seed: int = Field(1, ge=0, lt=2**31, description="of the signature's hash functions; part of what others can reuse")
    min_shingles: int = Field(10, ge=1, description="documents with fewer distinct shingles are left to exact dedup")
    verify: Verify | Literal[False] = Field(Verify(), description="false: every member of a group falls for its first")
    keep: Literal["global", "per-source"] = Field("global", description="per-source: only for one of the own source")
    exempt: list[str] = Field(default_factory=list, description="sources that take no part, such as templated ones")
    exact_members: int = Field(4096, ge=1, description="size up to which a group's search has no bound")
    lookups: int = Field(1 << 16, ge=1, description="index entries a document may visit in a larger group")
    force: bool = Field(False, description="run even if bands x rows miss most pairs at the threshold")


class Dedup(Model):
    """Duplicates over the whole corpus, exact before fuzzy. In both, of several copies the first in keep order stays:
    sources as listed, then (fuzzy) the longer text, then address.
    """

    exact: Exact | None = None
    fuzzy: Fuzzy | None = None
    against: list[str] = Field(
        default_factory=list,
        description="runs whose kept documents come before all others, or their columns/signatures-KEY folders",
    )


class SelectItem(Model):
    """A preset (`use`) with changed thresholds or left-out rules, or a rule of one's own (`name`, `drop`)."""

    use: str | None = None
    set: dict[str, float] = Field(default_factory=dict, description="thresholds of the preset to change")
    without: list[str] = Field(default_factory=list, description="rules of the preset to leave out")
    name: Name | None = None
    drop: str | None = Field(None, description="SQL condition over columns; a document that meets it is dropped")
    when: str | None = Field(None, description="SQL condition under which the rule applies at all")
    sources: list[str] | None = Field(None, description="sources the rule or preset is for; all when not given")

    @model_validator(mode="after")
    def _preset_or_rule(self) -> SelectItem:
        if self.use is not None and (self.name or self.drop or self.when):
            raise ValueError(
                "a preset (use) takes only set, without and sources; write name and drop as a rule of its own"
            )
        if self.use is None and (self.name is None or self.drop is None):
            raise ValueError("needs either use, or name and drop")
        if self.use is None and (self.set or self.without):
            raise ValueError("set and without belong to a preset (use)")
        return self


class TokenizerTraining(Model):
    vocab_size: int = Field(32_768, ge=300, le=1_000_000)
    sample: Amount = Field(32 << 20, description="bytes of text to train on, a seeded sample of all documents")
    special: list[str] = Field(default_factory=list)


class Tokenizer(Model):
    """A tokenizer.json by path, or a byte-level BPE trained from this recipe's documents."""

    file: str | None = None
    train: TokenizerTraining | None = None
    eos: str | None = Field("<|endoftext|>", min_length=1, description="token behind each document; null for none")
    bos: str | None = Field(None, min_length=1, description="token before each document")
    parse_markers: bool = Field(False, description="let marker strings in documents become control tokens")

    @model_validator(mode="after")
    def _one_origin(self) -> Tokenizer:
        if (self.file is None) == (self.train is None):
            raise ValueError("needs exactly one of file and train")
        return self


class Phase(Model):
    """`share` of the budget, and the weights of the cells: a strategy, or a table over all cells."""

    share: float
    weights: dict[str, Any]
    redistribute: bool = Field(False, description="spread what an epoch cap cuts off over the other cells")

    @field_validator("weights")
    @classmethod
    def _weights(cls, value: dict[str, Any]) -> dict[str, Any]:
        if "strategy" in value:
            if value != {"strategy": "proportional"}:
                raise ValueError("the strategy is {strategy: proportional}, or give a table of cells and weights")
            return value
        for cell, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight):
                raise ValueError(f"the weight of {cell} must be a number, found {weight!r}")
        return value


class Mixture(Model):
    budget: Amount
    sequence_length: int = Field(4096, ge=2)
    max_epochs: float = Field(8, gt=0)
    normalise: bool = Field(False, description="scale weights that do not sum to one, and say so")
    phases: dict[Name, Phase] = Field(min_length=1)


class Export(Model):
    format: Literal["megatron", "parquet"]
    text: bool = Field(False, description="parquet: add each document's text")


class Recipe(Model):
    """Everything about one corpus."""

    name: Name
    seed: int = Field(17, ge=0, lt=2**63)
    sources: dict[Name, Source] = Field(min_length=1)
    annotate: Annotate = Annotate()
    dedup: Dedup = Dedup()
    select: list[SelectItem] = Field(default_factory=list)
    acknowledge: list[str] = Field(
        default_factory=list, description="alarms that are expected, each as RULE:SOURCE, such as gopher-short:code"
    )
    tokenizer: Tokenizer | None = None
    cells: list[CellDimension] = Field(["source"], min_length=1)
    mixture: Mixture | None = None
    export: list[Export] = Field(default_factory=list)

    @model_validator(mode="after")
    def _parts_fit(self) -> Recipe:
        quality = self.annotate.quality
        if "quality" in self.cells and quality is None:
            raise ValueError("cells by quality need annotate.quality")
        if quality is not None and quality.train is not None:
            for name in [*quality.train.positive, *quality.train.negative]:
                if name not in self.sources:
                    raise ValueError(
                        f"annotate.quality.train names source {name!r}; sources are {', '.join(self.sources)}"
                    )
        for name in self.dedup.fuzzy.exempt if self.dedup.fuzzy else []:
            if name not in self.sources:
                raise ValueError(f"dedup.fuzzy.exempt names source {name!r}; sources are {', '.join(self.sources)}")
        if self.dedup.against and self.dedup.exact is None and self.dedup.fuzzy is None:
            raise ValueError("dedup.against needs dedup.exact or dedup.fuzzy, which compare with the earlier corpora")
        for item in self.select:
            for name in item.sources or []:
                if name not in self.sources:
                    raise ValueError(f"select names source {name!r}; sources are {', '.join(self.sources)}")
        if self.mixture is not None and self.tokenizer is None:
            raise ValueError("a mixture counts tokens: it needs a tokenizer")
        if self.export and self.tokenizer is None:
            raise ValueError("an export writes tokens: it needs a tokenizer")
        formats = [wanted.format for wanted in self.export]
        for name in formats:
            if formats.count(name) > 1:
                raise ValueError(f"export lists {name} twice, into one folder; keep one, or use `tonnage export --out`")
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a recipe, for editors."""
    return Recipe.model_json_schema()
