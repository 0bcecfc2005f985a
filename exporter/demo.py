"""The configuration of the demo: one account for each environment of the simulated clouds."""

from collections.abc import Mapping

from exporter.config import ENVIRONMENTS, Config

_POLLING = {"interval": 5.0, "catalog_interval": 60.0, "requests_per_second": 50.0}


def demo_config(url: str, credentials: Mapping[str, str]) -> Config:
    """Return a configuration that polls all that the simulator at this address has."""
    scp = [
        {
            "account": f"demo-{environment}",
            "environment": environment,
            "access_key": {"value": credentials["SCP_ACCESS_KEY"]},
            "secret_key": {"value": credentials["SCP_SECRET_KEY"]},
            "endpoint": url + "/scp/{environment}/{region}",
            "polling": _POLLING,
        }
        for environment in ENVIRONMENTS
    ]
    nsml = {
        "account": "demo-research",
        "access_key": {"value": credentials["NCP_ACCESS_KEY"]},
        "secret_key": {"value": credentials["NCP_SECRET_KEY"]},
        "api_key": {"value": credentials["NCP_API_KEY"]},
        "endpoint": url + "/nsml/v1",
        "polling": _POLLING,
    }
    return Config.model_validate({"scp": tuple(scp), "nsml": (nsml,)})
