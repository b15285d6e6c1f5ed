"""BOS, EOS and width are looked up in the tokenizer, never guessed; what cannot be is refused before any work."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from support.small_tokenizers import BEGIN, CHAT, END, changed, synthetic, trained, with_added

from tonnage.errors import UsageError
from tonnage.tokenize.policy import TokenPolicy, resolve_policy


@pytest.mark.parametrize(("vocab_size", "dtype"), [(65_536, "uint16"), (65_537, "uint32"), (70_000, "uint32")])
def test_width_follows_from_the_vocabulary(vocab_size: int, dtype: str) -> None:
    policy = resolve_policy(synthetic(vocab_size), eos=END)
    assert (policy.vocab_size, policy.dtype) == (vocab_size, dtype)


def test_added_tokens_count_for_the_width() -> None:
    """65,536 ids fill 16 bits; one chat marker behind them does not fit any more."""
    policy = resolve_policy(with_added(synthetic(65_536), CHAT, special=True), eos=END)
    assert (policy.vocab_size, policy.dtype) == (65_537, "uint32")


def test_eos_is_where_the_tokenizer_has_it() -> None:
    """Neither the first nor the last id, as a reader that guesses would take it."""
    assert resolve_policy(synthetic(1000), eos=END).eos_id == 256
    policy = resolve_policy(trained(), eos=CHAT, bos=END)
    assert (policy.bos_id, policy.eos_id) == (0, 2)


def test_bos_may_be_eos_and_both_may_be_left_out() -> None:
    same = resolve_policy(trained(), eos=END, bos=END)
    assert (same.bos_id, same.eos_id, same.added) == (0, 0, 2)
    none = resolve_policy(trained(), eos=None)
    assert (none.bos_id, none.eos_id, none.added) == (None, None, 0)


@pytest.mark.parametrize("names", [{"eos": "<eos>"}, {"eos": END, "bos": "<eos>"}, {"eos": "harbour"}])
def test_a_missing_token_is_refused_with_those_that_exist(names: dict[str, str]) -> None:
    key = "bos" if "bos" in names else "eos"
    with pytest.raises(UsageError, match=rf"tokenizer\.{key}: .*{END[2:-2]}.*{BEGIN[2:-2]}.*{CHAT[2:-2]}"):
        resolve_policy(trained(), **names)


@pytest.mark.parametrize("key", ["eos", "bos"])
def test_a_token_of_ordinary_text_cannot_mark_documents(key: str) -> None:
    content = json.loads(trained())
    content["added_tokens"].append({**content["added_tokens"][0], "content": "a", "id": content["model"]["vocab"]["a"]})
    with pytest.raises(UsageError, match=rf"tokenizer.{key}: 'a' is a token of ordinary text"):
        resolve_policy(json.dumps(content).encode(), **{"eos": END, key: "a"})


def test_of_many_added_tokens_some_are_named() -> None:
    many = with_added(trained(), *(f"<|reserved {i}|>" for i in range(250)), special=True)
    with pytest.raises(UsageError, match=r"reserved 16.*and 233 more"):
        resolve_policy(many, eos="<eos>")


def test_without_added_tokens_there_is_no_eos() -> None:
    with pytest.raises(UsageError, match="none at all"):
        resolve_policy(changed(trained(), added_tokens=[]), eos=END)


def _with_model(**settings: object) -> bytes:
    return changed(trained(), model={**json.loads(trained())["model"], **settings})


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (b"", "no tokenizer.json"),
        (b"[]", "no tokenizer.json"),
        (b'{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}', "no tokenizer.json"),
        (_with_model(type="WordPiece"), "cannot be run by gigatoken"),
        (changed(trained(), pre_tokenizer={"type": "Whitespace"}), "cannot be run by gigatoken"),
        (changed(trained(), normalizer={"type": "Lowercase"}), "cannot be run by gigatoken"),
        (_with_model(vocab={"a": 0}, merges=[]), "cannot be run by gigatoken"),  # 255 bytes would be lost
        (_with_model(dropout=0.1), "set dropout to null"),
    ],
)
def test_tokenizers_that_cannot_be_used(tokenizer: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve_policy(tokenizer, eos=END)


def test_ids_with_gaps_mean_different_things_to_different_readers() -> None:
    content = json.loads(with_added(trained(), CHAT.upper()))
    content["added_tokens"][-1]["id"] += 100
    with pytest.raises(UsageError, match=r"the id 700, the tokenizers library 600"):
        resolve_policy(json.dumps(content).encode(), eos=END)


def test_whole_word_markers_cannot_be_parsed() -> None:
    tokenizer = with_added(trained(), "think", single_word=True)
    assert resolve_policy(tokenizer, eos=END).parse_markers is False
    with pytest.raises(UsageError, match="single_word"):
        resolve_policy(tokenizer, eos=END, parse_markers=True)


def test_every_change_of_policy_is_another_key() -> None:
    policy = resolve_policy(trained(), eos=END, bos=BEGIN)
    others = [
        resolve_policy(trained(), eos=END),
        resolve_policy(trained(), eos=None, bos=BEGIN),
        resolve_policy(trained(), eos=CHAT, bos=BEGIN),
        resolve_policy(trained(), eos=END, bos=BEGIN, parse_markers=True),
        resolve_policy(trained(601), eos=END, bos=BEGIN),
        resolve_policy(trained() + b"\n", eos=END, bos=BEGIN),
        replace(policy, gigatoken="0.10.1"),
        replace(policy, tokenizers="0.99"),
    ]
    keys = [json.dumps(each.key_material(), sort_keys=True) for each in (policy, *others)]
    assert len(set(keys)) == len(keys)


def test_a_policy_survives_writing_and_travelling() -> None:
    policy = resolve_policy(trained(), eos=END)
    assert TokenPolicy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
