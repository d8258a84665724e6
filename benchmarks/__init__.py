"""Speed and memory against what people use today.

Each module has a `main()` that measures, prints details and returns `Figure`s.
"""
