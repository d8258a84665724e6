"""The language of chest radiology: findings, lexicon, sentences, negation, report parser."""
