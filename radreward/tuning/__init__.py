"""Studies: search the settings of `fit` for those that make a metric best."""
