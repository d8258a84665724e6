"""One package per paper, with only what this paper needs. These packages never import each other."""
