"""The configuration: frozen models, read from one strict YAML file."""

from exporter.config.models import (
    CATALOG_COLLECTORS,
    ENVIRONMENTS,
    NSML_COLLECTORS,
    NSML_ENDPOINT,
    NSML_POLLING,
    SCP_COLLECTORS,
    SCP_ENDPOINT,
    Config,
    HttpClient,
    MetricsOptions,
    NsmlAccount,
    Polling,
    RunRef,
    ScpAccount,
    SecretSource,
)
from exporter.config.reading import ConfigError, load
from exporter.config.writing import effective

__all__ = [
    "CATALOG_COLLECTORS",
    "ENVIRONMENTS",
    "NSML_COLLECTORS",
    "NSML_ENDPOINT",
    "NSML_POLLING",
    "SCP_COLLECTORS",
    "SCP_ENDPOINT",
    "Config",
    "ConfigError",
    "HttpClient",
    "MetricsOptions",
    "NsmlAccount",
    "Polling",
    "RunRef",
    "ScpAccount",
    "SecretSource",
    "effective",
    "load",
]
