"""Builds the Grafana dashboards in `dashboards/`: `python -m boards` writes them.

Panels are data, the queries are PromQL with a few named fragments, and everything is
turned into JSON in one place (`grafana`). Nothing here is part of the installed package.
"""
