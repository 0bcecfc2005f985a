"""What the tests of the documentation share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page

Spoil = Callable[[str], Page]


@pytest.fixture
def spoiled(tmp_path: Path) -> Spoil:
    """Give the README as it would be with a text added to it."""

    def spoil(text: str) -> Page:
        page = Page(tmp_path, "README.md")
        page.path.write_text(
            (ROOT / page.name).read_text(encoding="utf-8") + text, encoding="utf-8"
        )
        return page

    return spoil
