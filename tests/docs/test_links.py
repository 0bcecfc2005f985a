"""Links within the documentation lead somewhere, and some lead to every page."""

import re
from pathlib import Path

import pytest

from tests.docs import links
from tests.docs.pages import ROOT, Page, pages

TEMPLATES = sorted((ROOT / ".github").rglob("*.md")) + sorted((ROOT / ".github").rglob("*.yml"))
_TO_MAIN = re.compile(r"\(\.\./blob/main/([\w./-]+)(?:#([\w-]+))?\)")


def test_no_link_is_broken() -> None:
    """Every link to a file or to a heading finds it."""
    assert list(links.broken(pages())) == []


def test_no_page_is_an_orphan() -> None:
    """From the README a chain of links leads to every page."""
    assert links.orphans(pages()) == []


def written(root: Path, **texts: str) -> list[Page]:
    """Write a small documentation of these pages."""
    (root / "docs").mkdir()
    (root / "README.md").write_text(texts.pop("readme"))
    for name, text in texts.items():
        (root / "docs" / f"{name}.md").write_text(text)
    return pages(root)


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("docs/gone.md", "no such file: docs/gone.md"),
        ("docs/there.md#gone", "no such anchor: docs/there.md#gone"),
        ("#gone", "no such anchor: #gone"),
        ("docs/#gone", "no page to look for an anchor in: docs/#gone"),
        ("docs/there.md#who-and-why-1", "no such anchor: docs/there.md#who-and-why-1"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, fault: str) -> None:
    """A link to nothing is named with its page and line."""
    found = written(tmp_path, readme=f"# A\n\n[b]({link})\n", there="# Who, and `why`?\n")

    assert list(links.broken(found)) == [f"README.md:3: {fault}"]


@pytest.mark.parametrize(
    "link",
    [
        "docs/there.md",
        "docs/there.md#who-and-why",
        "docs/there.md#twice-1",
        "#a",
        "docs/",
        "https://prometheus.example/docs",
    ],
)
def test_a_good_link_is_no_fault(tmp_path: Path, link: str) -> None:
    """Files, directories, headings and other sites may be linked to."""
    there = "# Who, and `why`?\n\n## Twice\n\n## Twice\n"

    assert list(links.broken(written(tmp_path, readme=f"# A\n\n[b]({link})\n", there=there))) == []


def test_a_missing_picture_is_found(tmp_path: Path) -> None:
    """A picture is a link too."""
    [fault] = links.broken(written(tmp_path, readme="![p](docs/p.png)\n"))

    assert fault == "README.md:1: no such file: docs/p.png"


def test_an_orphan_is_found(tmp_path: Path) -> None:
    """A page that only an orphan links to is one itself."""
    found = written(
        tmp_path, readme="[a](docs/a.md)\n", a="[r](../README.md)\n", b="[c](c.md)\n", c="# C\n"
    )

    assert links.orphans(found) == ["docs/b.md", "docs/c.md"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_links_of_templates_lead_somewhere(template: Path) -> None:
    """What a form of the repository links to is a page, and the heading is on it."""
    for name, anchor in _TO_MAIN.findall(template.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file()
        assert not anchor or anchor in Page(ROOT, name).anchors()
