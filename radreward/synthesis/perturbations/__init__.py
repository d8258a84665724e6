"""One library of edits of facts, sentences and reports; all other code perturbs reports with it.

- `fact_edits`: a fact on the other side, of another severity, or negated.
- `sentence_edits`: a sentence mirrored or regraded, and the closest wording of a fact.
- `word_substitution`: single words of a fact exchanged in a sentence that may state more.
- `report_edits`: a fact inserted or replaced everywhere in a report, sentences dropped, reordered or reworded.
- `error_operators`: one random error of each RadCliQ type. `language_errors`: errors of grammar, terms and history.
"""
