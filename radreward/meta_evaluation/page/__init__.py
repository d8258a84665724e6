"""Benchmark results as one HTML file: ranking, tests, charts and the largest disagreements with raters."""

from radreward.meta_evaluation.page.write_page import write_page

__all__ = ["write_page"]
