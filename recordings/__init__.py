"""Drills whose pages become the input of the alerts' unit tests."""
