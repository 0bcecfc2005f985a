"""The files that come along: dashboards, alert rules, example configurations.

An installed package has them in itself; in a source tree they stand where they are written.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_FOLDERS: Final = {"dashboards": "*.json", "alerts": "*.yml"}
_CONFIGURATIONS: Final = ("prometheus.yml", "alertmanager.yml")


class BundleError(Exception):
    """Files that can't be written, with the reason in one line."""


def files(package: Path = _PACKAGE) -> Mapping[str, Path]:
    """Return where each bundled file stands, by its name in the bundle, in order.

    Names have slashes, such as `alerts/scp.yml`.
    """
    return dict(sorted(_found(package)))


def _found(package: Path) -> Iterator[tuple[str, Path]]:
    bundled, source = package / "bundled", package.parent
    installed = bundled.is_dir()
    for folder, pattern in _FOLDERS.items():
        for path in ((bundled if installed else source) / folder).glob(pattern):
            yield f"{folder}/{path.name}", path
    for name in _CONFIGURATIONS:
        path = bundled / name if installed else source / "deploy" / name
        if path.is_file():
            yield name, path


def write(directory: Path, package: Path = _PACKAGE) -> list[Path]:
    """Write all bundled files; return where they stand now, in order.

    A file that was there and differs is kept beside the new one as NAME.bak, or NAME.2.bak and
    so on where others were kept before, and returned too; one that is the same is left alone.
    Raises BundleError.
    """
    if directory.exists() and not directory.is_dir():
        raise BundleError(f"{directory} is a file; name a directory, which may be a new one")
    bundled = files(package)
    if not bundled:
        raise BundleError("this installation has no bundled files; install the package anew")
    return [path for name, source in bundled.items() for path in _put(directory / name, source)]


def _put(path: Path, source: Path) -> Iterator[Path]:
    """Put one file in its place, and yield what was written or is as it should be."""
    try:
        content = source.read_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(content)
        elif path.read_bytes() != content:
            kept = next(each for each in _kept_names(path) if not each.exists())
            path.replace(kept)
            path.write_bytes(content)
            yield kept
    except OSError as error:
        raise BundleError(f"cannot write {path}: {error.strerror or error}") from error
    yield path


def _kept_names(path: Path) -> Iterator[Path]:
    """Yield where a file may be kept: an older one may be what somebody has written."""
    yield path.with_name(f"{path.name}.bak")
    yield from (path.with_name(f"{path.name}.{number}.bak") for number in count(2))
