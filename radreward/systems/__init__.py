"""One package per paper, each with only what this paper needs; systems never import each other."""
