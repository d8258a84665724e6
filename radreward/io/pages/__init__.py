"""Self-contained HTML pages: the parts that all pages share."""
