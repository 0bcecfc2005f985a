"""What people and Prometheus read over HTTP."""
