"""Edits of facts, sentences and reports; all other code uses them to perturb reports.

- `fact_edits`: a fact with another side, severity, size, change, certainty or finding.
- `sentence_edits`: sides or a word of severity exchanged, and the closest wording of a fact.
- `word_substitution`: single words of a fact exchanged in a partially parsed sentence.
- `report_edits`: a fact inserted or replaced everywhere in a report, sentences dropped, reordered or reworded.
- `error_operators`: one random error of each RadCliQ type. `language_errors`: errors of grammar, terms and history.
"""
