"""Prometheus exporter for GPU clusters on Samsung Cloud Platform and CLOVA NSML."""

__version__ = "0.1.0"
