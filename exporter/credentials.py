"""Secrets as they are at this moment: files are read again when they change."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

from exporter import logs
from exporter.config import SecretSource

# A file that was written so recently may be written again within the same tick of its clock, with
# no trace in its status: until it has been quiet for that long, it is read every time.
SETTLED_NS: Final = 2_000_000_000

_log = logs.get(__name__)


class Status(NamedTuple):
    """What tells one version of a file from another, symbolic links followed."""

    modified: int
    size: int
    inode: int

    @classmethod
    def of(cls, file: Path | None) -> Self | None:
        """Ask for a file's status: one call of the system; None where it has none."""
        try:
            found = os.stat(file) if file else None  # noqa: PTH116 - Path.stat costs twice as much
        except OSError:
            found = None
        return cls(found.st_mtime_ns, found.st_size, found.st_ino) if found else None


class SecretUnavailable(Exception):  # noqa: N818 - a state of affairs, which may pass
    """A secret that cannot be read and never could; the text does not show any of it."""


class Secret:
    """One secret.

    A file that is missing, empty or half written during a rotation leaves the last good value in
    force. `on_value` is told each new value, `clock` gives the Unix time in nanoseconds.
    """

    def __init__(
        self,
        source: SecretSource,
        environ: Mapping[str, str],
        on_value: Callable[[str], None] = lambda _: None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._source = source
        self._environ = environ
        self._on_value = on_value
        self._clock = clock
        self._value: str | None = None
        self._status: Status | None = None
        self._fault = ""

    def read(self) -> str:
        """Return the present value; SecretUnavailable as long as there never was a good one."""
        status = Status.of(self._source.file)
        if self._value is None or self._may_have_changed(status):
            self._renew(status)
        if self._value is None:
            raise SecretUnavailable(self._fault)
        return self._value

    def _may_have_changed(self, status: Status | None) -> bool:
        return self._source.file is not None and (status is None or status != self._status)

    def _renew(self, status: Status | None) -> None:
        try:
            value = self._source.read(self._environ)
        except ValueError as error:
            self._keep(str(error))
            return
        if Status.of(self._source.file) != status:
            self._keep("changed while it was read")
            return
        self._fault = ""
        self._status = status if self._is_settled(status) else None
        if value != self._value:
            self._value = value
            self._on_value(value)

    def _keep(self, fault: str) -> None:
        if fault != self._fault and self._value is not None:
            _log.warning("secret keeps its last good value", file=str(self._source.file), why=fault)
        self._fault = fault

    def _is_settled(self, status: Status | None) -> bool:
        return status is not None and self._clock() - status.modified > SETTLED_NS


class Credentials:
    """Several secrets that are read together, by their names.

    `version` grows by one each time that a reading finds any value changed, the first one too:
    whoever waits because a credential was refused need wait no longer.
    """

    def __init__(self, **secrets: Secret) -> None:
        self._secrets = secrets
        self._values: dict[str, str] = {}
        self.version = 0

    def read(self) -> Mapping[str, str]:
        """Return the present values.

        Raises SecretUnavailable, which names the secret, where one cannot be had.
        """
        values = {name: self._read(name) for name in self._secrets}
        if values != self._values:
            self._values = values
            self.version += 1
        return values

    def _read(self, name: str) -> str:
        try:
            return self._secrets[name].read()
        except SecretUnavailable as error:
            raise SecretUnavailable(f"{name}: {error}") from None
