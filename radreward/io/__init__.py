"""Reading and writing files: tables, folders, row validation, progress, text tables."""
