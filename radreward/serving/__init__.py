"""Scorers as a web service with a page to try them."""
