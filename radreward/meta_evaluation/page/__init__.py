"""What a benchmark found, as one HTML file: ranking, tests, charts, and where metrics and people differ most."""

from radreward.meta_evaluation.page.write_page import write_page

__all__ = ["write_page"]
