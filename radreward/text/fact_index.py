"""Sentences of a report by the facts that they state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from radreward.text.facts import Fact
from radreward.text.findings import is_related
from radreward.text.sentence_parser import sentence_facts


class FactIndex:
    """Numbers of sentences by what they state.

    Args:
        sentences: Sentences of a report, in order.

    >>> index = FactIndex(["Lungs are clear.", "Small left effusion.", "The effusion is new."])
    >>> index.stating(Fact("effusion", location="left", severity="mild")), index.stating(Fact("effusion", size=3.0))
    ([1], [1, 2])
    """

    def __init__(self, sentences: Iterable[str]) -> None:
        self._numbers = defaultdict[tuple[object, ...], list[int]](list)
        for number, sentence in enumerate(sentences):
            for fact in sentence_facts(sentence):
                for key in (fact, fact[:2], fact[:1]):
                    self._numbers[key].append(number)

    def stating(self, fact: Fact) -> Sequence[int]:
        """Return the numbers of the sentences that state a fact of the report.

        A fact whose details stand in several sentences is found by its name and certainty.
        """
        return self._numbers.get(fact.undescribed) or self._numbers.get(fact[:2], [])

    def about(self, finding: str) -> Sequence[int]:
        """Return the numbers of the sentences about a finding or a related one, see `is_related`."""
        names = [key for key in self._numbers if len(key) == 1 and is_related(finding, str(key[0]))]
        return sorted({number for name in names for number in self._numbers[name]})
