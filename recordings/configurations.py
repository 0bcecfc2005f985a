"""The configurations of the drills, with credentials from the environment."""

from collections.abc import Sequence

_SCP = """\
  - account: {account}
    environment: {environment}
    regions: [{regions}]
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    endpoint: {url}/scp/{{environment}}/{{region}}
    collectors: [{collectors}]
"""
_NSML = """\
nsml:
  - account: research
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
    polling: {{requests_per_second: 10000, interval: {interval}}}
    collectors: [runs, run_nodes]
    discover: false
    runs:
{runs}"""


def scp(  # noqa: PLR0913 - each is one knob, and all but the first are named
    url: str,
    *,
    accounts: Sequence[tuple[str, str, str]] = (("prod", "e", "kr-west1"),),
    collectors: str = "gpu_nodes, cluster_fabrics",
    series: str = "current",
    interval: str = "30s",
    more: str = "",
) -> str:
    """Write a configuration of SCP: accounts as name, environment and regions."""
    text = (
        f"polling: {{requests_per_second: 10000, interval: {interval}, catalog_interval: 1m}}\n"
        f"metrics: {{state_series: {series}}}\nscp:\n"
    )
    for account, environment, regions in accounts:
        text += _SCP.format(
            account=account,
            environment=environment,
            regions=regions,
            url=url,
            collectors=collectors,
        )
    return text + more


def nsml(url: str, runs: Sequence[tuple[str, str]], interval: str = "60s") -> str:
    """Write the part of NSML: runs by project and name."""
    listed = "".join(
        f'      - {{project_id: "{project}", run_name: "{name}"}}\n' for project, name in runs
    )
    return _NSML.format(url=url, runs=listed, interval=interval)
