"""Statistics shared by comparisons: paired tests, cluster bootstrap and weighted concordance."""
