"""Benchmarks of the exporter: every figure beside another of the same run and machine."""
