"""Statistics shared by all comparisons: paired tests, cluster bootstrap, weighted concordance."""
