"""Statistics of a benchmark, on arrays only: correlations, comparisons of scorers, raters, systems and counts."""
