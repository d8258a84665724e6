"""Stored scores of other rules are not used: the fingerprints of scorers follow the rules."""

import pytest

import radreward
from radreward.models import rules_version


@pytest.mark.parametrize("name", ["er2score", "ratescore", "sentence-eval", "entity-f1", "crimson"])
def test_fingerprint_changes_with_the_rules(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = radreward.load(name)
    before = scorer.fingerprint()
    assert scorer.fingerprint() == before
    module = __import__(type(scorer).__module__, fromlist=["rules_version"])
    monkeypatch.setattr(module, "rules_version", lambda: "other rules")
    assert scorer.fingerprint() != before


def test_version_is_of_code_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_version, "fingerprint", lambda files: " ".join(files))
    names = rules_version.rules_version.__wrapped__().split()
    assert {"findings.txt", "sentence_parser.py", "finding_comparison.py", "error_counting.py"} <= set(names)
