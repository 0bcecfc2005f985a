"""Writes a configuration as it is in force, without its secrets."""

import yaml

from exporter.config.models import Account, Config, SecretSource, Section


def effective(config: Config) -> str:
    """Write a configuration as YAML, complete, with `<secret>` for each secret in it."""
    written = {
        "metrics": _dump(config.metrics),
        "http_client": _dump(config.http_client),
        "scp": [_dump_account(account) for account in config.scp],
        "nsml": [_dump_account(account) for account in config.nsml],
    }
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True)


def _dump(section: Section) -> dict[str, object]:
    return section.model_dump(mode="json", by_alias=True)


def _dump_account(account: Account) -> dict[str, object]:
    dumped = _dump(account)
    for name in account.secrets:
        del dumped[name]
        dumped |= _dump_secret(name, getattr(account, name))
    return dumped


def _dump_secret(name: str, source: SecretSource) -> dict[str, object]:
    if source.file is not None:
        return {f"{name}_file": str(source.file)}
    return {f"{name}_env": source.env} if source.env is not None else {name: "<secret>"}
