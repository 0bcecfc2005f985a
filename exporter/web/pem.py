"""Certificates and keys in PEM form."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Material(NamedTuple):
    """Certificates and key, each as the bytes of a PEM file."""

    cert: bytes
    key: bytes
    client_ca: bytes | None = None


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Give content a name for as long as the context lasts; on Linux it never leaves memory.

    OpenSSL is given keys from files alone, and a file may be another by the time it reads it.
    """
    if sys.platform == "linux":
        file = os.fdopen(os.memfd_create("pem"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below, with the other
    with file:
        file.write(content)
        file.flush()
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"
