"""Speed and memory against what people use today; each module has a `main()` that measures and prints."""
