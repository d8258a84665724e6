"""Page of benchmark results in one HTML file: ranking, tests, charts and the largest disagreements with raters."""
