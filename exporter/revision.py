"""The commit that the program was built from."""

import subprocess
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
# Written into what is built (hatch_build.py, Dockerfile), and never into a source tree.
WRITTEN = "revision.txt"


@cache
def current() -> str:
    """Return the commit of what runs, as it was at the first call; empty where nobody knows it."""
    return of_package(PACKAGE)


def of_package(package: Path) -> str:
    """Return the commit that a package's build wrote down, or else that of its source tree."""
    try:
        return (package / WRITTEN).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return of_tree(package.parent)


def of_tree(tree: Path) -> str:
    """Return the commit of a source tree, with `-modified` where a file differs from it.

    Empty where the tree is no clone, or where git is missing or refuses.
    """
    # Asked only of this very tree: an environment within somebody's clone is none of that clone's.
    if not (tree / ".git").exists():
        return ""
    first, *changes = _status(tree) or [""]
    commit = first.removeprefix("# branch.oid ")
    if not commit.isalnum():  # a clone without a commit says "(initial)"
        return ""
    return f"{commit}-modified" if any(not line.startswith("#") for line in changes) else commit


def _status(tree: Path) -> list[str]:
    """Return what git says of the commit and of the files that it knows, and take no lock."""
    git = ("git", f"--git-dir={tree / '.git'}", f"--work-tree={tree}", "--no-optional-locks")
    status = ("status", "--porcelain=v2", "--branch", "--untracked-files=no")
    try:
        done = subprocess.run(  # noqa: S603 - no word of it comes from outside
            (*git, *status),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()
