"""What the build adds to the package: the commit that it is built from."""

import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RevisionHook(BuildHookInterface[Any]):
    """Writes the commit into wheel and sdist: of git, or what stands in the tree already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file, unless the code stays in its clone, where git knows better."""
        package = Path(self.root, "exporter")
        revision = runpy.run_path(str(package / "revision.py"))
        self.folder = Path(tempfile.mkdtemp())
        if version != "editable":
            written = self.folder / revision["WRITTEN"]
            written.write_text(f"{revision['of_package'](package)}\n", encoding="ascii")
            build_data["force_include"][str(written)] = f"exporter/{written.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what is in the archive now."""
        del version, build_data, artifact_path
        shutil.rmtree(self.folder)
