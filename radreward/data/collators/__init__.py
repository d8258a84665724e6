"""Collators: groups of reports to the batches of each LightningModule."""
