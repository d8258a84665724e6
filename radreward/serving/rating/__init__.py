"""Material for raters: an offline page, and tasks of Label Studio."""
