"""Simulated clouds for the demo, tests and drills; imports nothing of the exporter."""
