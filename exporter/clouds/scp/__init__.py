"""Samsung Cloud Platform, Multi-node GPU Cluster."""
