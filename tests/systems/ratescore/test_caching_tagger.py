from collections.abc import Sequence
from pathlib import Path

import pytest

from radreward.systems.ratescore.taggers import RuleTagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.types import Entity

REPORTS = ["No effusion. Clear lungs.", "Clear lungs. No effusion. No effusion."]


class CountingTagger(RuleTagger):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        self.seen += sentences
        return super().tag(sentences)


def test_each_sentence_is_tagged_once() -> None:
    counting = CountingTagger()
    caching = CachingTagger(counting)
    assert [caching.tag_reports([report])[0] for report in REPORTS] == RuleTagger().tag_reports(REPORTS)
    assert counting.seen == ["No effusion.", "Clear lungs."]
    assert caching.fingerprint() == RuleTagger().fingerprint()


def test_cache_drops_the_least_recently_used() -> None:
    counting = CountingTagger()
    caching = CachingTagger(counting, max_cached=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        caching.tag([text])
    assert counting.seen == ["a", "b", "c", "b"]
    caching.tag(["d", "e", "f"])  # more than the cache holds
    assert caching.tag(["f", "e"]) == RuleTagger().tag(["f", "e"])
    assert counting.seen[4:] == ["d", "e", "f"]


def test_saved_as_the_wrapped_tagger(tmp_path: Path) -> None:
    CachingTagger(RuleTagger()).save_pretrained(tmp_path / "a")
    RuleTagger().save_pretrained(tmp_path / "b")
    assert (tmp_path / "a" / "config.json").read_bytes() == (tmp_path / "b" / "config.json").read_bytes()


def test_max_cached_must_be_positive() -> None:
    with pytest.raises(ValueError, match="Expected `max_cached` to be >= 1 but got 0"):
        CachingTagger(RuleTagger(), 0)
