"""A fault drill: the real exporter against simulated clouds that fail in every way."""
