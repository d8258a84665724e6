"""Records, pairing, packing and batches of reports."""
