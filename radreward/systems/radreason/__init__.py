"""RadReason: a language model that reasons and gives one sub-score per criterion."""
