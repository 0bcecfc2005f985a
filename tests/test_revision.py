"""The commit that build_info tells, from git, or as the build wrote it down."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter import revision
from exporter.app import Application
from exporter.negotiation import TEXT
from exporter.revision import of_package, of_tree

pytestmark = [pytest.mark.tool("git"), pytest.mark.usefixtures("tool")]

ROOT = Path(__file__).parent.parent
WHO = ("-c", "user.name=made up", "-c", "user.email=made-up@example.com")


def git(tree: Path, *arguments: str | Path) -> str:
    """Run git in a tree, without what a hook that runs these tests says of another."""
    repository = (f"--git-dir={tree / '.git'}", f"--work-tree={tree}")
    done = subprocess.run(  # noqa: S603 - the tests' own commands
        ("git", *repository, *WHO, *arguments),  # noqa: S607 - whichever git is there
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a clone with a commit of one file."""
    tree = tmp_path / "clone"
    tree.mkdir()
    git(tree, "init", "--quiet")
    (tree / "file").write_text("one\n")
    git(tree, "add", "file")
    git(tree, "commit", "--quiet", "--message=one")
    return tree


def test_a_clone_tells_its_commit(tree: Path) -> None:
    """The whole of its name, as a source forge finds it."""
    assert of_tree(tree) == git(tree, "rev-parse", "HEAD")


def test_a_file_that_differs_is_told(tree: Path) -> None:
    """What runs is not what the commit has, whether the change is staged or not."""
    commit = git(tree, "rev-parse", "HEAD")
    (tree / "file").write_text("two\n")
    assert of_tree(tree) == f"{commit}-modified"
    git(tree, "add", "file")
    assert of_tree(tree) == f"{commit}-modified"


def test_a_file_that_git_does_not_know_changes_nothing(tree: Path) -> None:
    """A configuration or an environment lies in many a clone."""
    (tree / "gpu-cluster-exporter.yml").write_text("nsml: []\n")
    assert of_tree(tree) == git(tree, "rev-parse", "HEAD")


def test_another_worktree_tells_its_own_commit(tree: Path) -> None:
    """Where `.git` is a file that names a directory."""
    other = tree.parent / "other"
    git(tree, "worktree", "add", "--quiet", "--detach", other)
    (other / "file").write_text("three\n")
    git(other, "commit", "--quiet", "--all", "--message=three")
    assert of_tree(other) == git(other, "rev-parse", "HEAD") != git(tree, "rev-parse", "HEAD")


def test_a_clone_without_a_commit_has_none(tree: Path) -> None:
    """Nothing is made up for it."""
    shutil.rmtree(tree / ".git")
    git(tree, "init", "--quiet")
    assert of_tree(tree) == ""


def test_a_tree_without_git_has_none(tree: Path) -> None:
    """Source that was unpacked from an archive runs all the same."""
    shutil.rmtree(tree / ".git")
    assert of_tree(tree) == ""


def test_a_clone_around_it_is_not_its_own(tree: Path) -> None:
    """What is installed into an environment within somebody's clone is none of that clone's."""
    package = tree / ".venv" / "site-packages" / "exporter"
    package.mkdir(parents=True)
    assert of_package(package) == ""


@pytest.mark.parametrize(
    "failure", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)], ids=repr
)
def test_without_an_answer_of_git_there_is_none(
    tree: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """A label is no reason not to start."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise failure

    monkeypatch.setattr(subprocess, "run", fail)
    assert of_tree(tree) == ""


def test_a_clone_that_git_cannot_read_has_none(tree: Path) -> None:
    """Its word for it is no commit."""
    (tree / ".git" / "HEAD").write_text("no head\n")
    assert of_tree(tree) == ""


@pytest.mark.parametrize("written", ["abc123\n", "\n", ""])
def test_what_the_build_wrote_down_counts(tree: Path, written: str) -> None:
    """It is asked nowhere else, not even where the build knew none."""
    package = tree / "exporter"
    package.mkdir()
    (package / revision.WRITTEN).write_text(written)
    assert of_package(package) == written.strip()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this tree is no clone")
async def test_the_page_tells_the_commit_of_this_tree() -> None:
    """What runs from a clone, as `make run` does, names that clone's commit."""
    revision.current.cache_clear()  # of a commit before this test
    async with Application() as app:
        page = app.page(TEXT).body.decode()
    told = re.findall(r'^gpu_cluster_exporter_build_info\{.*revision="(.*?)"', page, re.MULTILINE)
    head = git(ROOT, "rev-parse", "HEAD")
    assert told in ([head], [f"{head}-modified"])
