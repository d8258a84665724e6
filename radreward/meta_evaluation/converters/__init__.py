"""Convert published ratings, read from your own copy, to rated pairs or preferences."""

from radreward.meta_evaluation.converters.convert import CONVERTERS, JOINING_CONVERTERS, convert

__all__ = ["CONVERTERS", "JOINING_CONVERTERS", "convert"]
