from collections.abc import Sequence
from pathlib import Path

import pytest

from radreward.systems.ratescore.taggers import RuleTagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.types import Entity

REPORTS = ["No effusion. Clear lungs.", "Clear lungs. No effusion. No effusion."]


class Counting(RuleTagger):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        self.seen += sentences
        return super().tag(sentences)


def test_the_same_entities_and_each_sentence_once() -> None:
    counting = Counting()
    remembered = CachingTagger(counting)
    assert [remembered.tag_reports([report])[0] for report in REPORTS] == RuleTagger().tag_reports(REPORTS)
    assert counting.seen == ["No effusion.", "Clear lungs."]
    assert remembered.fingerprint() == RuleTagger().fingerprint()


def test_forgets_what_was_seen_least_recently() -> None:
    counting = Counting()
    remembered = CachingTagger(counting, max_cached=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        remembered.tag([text])
    assert counting.seen == ["a", "b", "c", "b"]
    remembered.tag(["d", "e", "f"])  # more at once than are kept
    assert remembered.tag(["f", "e"]) == RuleTagger().tag(["f", "e"])
    assert counting.seen[4:] == ["d", "e", "f"]


def test_is_saved_as_the_tagger(tmp_path: Path) -> None:
    CachingTagger(RuleTagger()).save_pretrained(tmp_path / "a")
    RuleTagger().save_pretrained(tmp_path / "b")
    assert (tmp_path / "a" / "config.json").read_bytes() == (tmp_path / "b" / "config.json").read_bytes()


def test_size_is_checked() -> None:
    with pytest.raises(ValueError, match="Expected `size` to be >= 1 but got 0"):
        CachingTagger(RuleTagger(), 0)
