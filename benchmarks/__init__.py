"""Speed and memory compared with other software.

Each module has a `main()` that measures, prints details and returns `Figure`s.
"""
