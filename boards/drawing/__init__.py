"""Draws dashboards with real values, from their JSON and the results of their queries."""
