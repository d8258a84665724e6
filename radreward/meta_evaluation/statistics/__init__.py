"""Statistics of agreement between metrics and radiologists."""
