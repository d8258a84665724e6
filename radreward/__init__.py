"""Train, swap, tune, compare and use metrics that judge radiology reports."""
