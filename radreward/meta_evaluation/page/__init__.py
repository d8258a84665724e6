"""Benchmark results as one HTML file: ranking, tests, charts and the largest disagreements with raters."""
