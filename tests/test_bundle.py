"""The bundled files: where they are found, and how they are written."""

import os
import tomllib
from pathlib import Path, PurePath

import pytest

from exporter import bundle
from exporter.bundle import BundleError, files, write

ROOT = Path(__file__).parent.parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a source tree with bundled files; returns its package."""
    contents = {
        "alerts/nsml.yml": "nsml rules",
        "alerts/scp.yml": "scp rules",
        "alerts/.gitkeep": "",
        "alerts/tests/scp.yml": "no rules",
        "dashboards/gpu-fleet.json": "{}",
        "deploy/alertmanager.yml": "route",
        "deploy/prometheus.yml": "scrape",
        "deploy/Dockerfile": "FROM",
        "exporter/bundle.py": "",
    }
    for name, text in contents.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree" / "exporter"


ALL = [
    "alertmanager.yml",
    "alerts/nsml.yml",
    "alerts/scp.yml",
    "dashboards/gpu-fleet.json",
    "prometheus.yml",
]


def test_a_source_tree_has_them_where_they_are_written(tree: Path) -> None:
    """Rules and dashboards of the top level, and the two example configurations, in order."""
    assert list(files(tree)) == ALL
    assert files(tree)["prometheus.yml"] == tree.parent / "deploy" / "prometheus.yml"


def test_an_installed_package_has_them_in_itself(tree: Path) -> None:
    """What stands beside an installed package belongs to others."""
    inner = tree / "bundled" / "alerts"
    inner.mkdir(parents=True)
    (inner / "scp.yml").write_text("installed rules")
    (tree / "bundled" / "prometheus.yml").write_text("installed")

    assert list(files(tree)) == ["alerts/scp.yml", "prometheus.yml"]
    assert files(tree)["alerts/scp.yml"].read_text() == "installed rules"


def test_this_project_has_them_all() -> None:
    """Every rule file, dashboard and example configuration of the repository is bundled."""
    wanted = {
        *(f"alerts/{path.name}" for path in (ROOT / "alerts").glob("*.yml")),
        *(f"dashboards/{path.name}" for path in (ROOT / "dashboards").glob("*.json")),
        *(name for name in bundle._CONFIGURATIONS if (ROOT / "deploy" / name).is_file()),
    }
    assert set(files()) == wanted
    assert wanted


def test_all_are_written(tree: Path, tmp_path: Path) -> None:
    """Into a directory that is made, rules and dashboards in folders of their own."""
    target = tmp_path / "new" / "directory"
    assert write(target, tree) == [target / name for name in ALL]
    assert (target / "alerts" / "scp.yml").read_text() == "scp rules"
    assert (target / "prometheus.yml").read_text() == "scrape"


def test_what_is_the_same_is_left_alone(tree: Path, tmp_path: Path) -> None:
    """Written twice, nothing changes and nothing is put aside."""
    target = tmp_path / "out"
    write(target, tree)
    (target / "prometheus.yml").chmod(0o444)
    os.utime(target / "prometheus.yml", (1, 1))

    assert write(target, tree) == [target / name for name in ALL]
    assert (target / "prometheus.yml").stat().st_mtime == 1


def test_what_differs_is_kept(tree: Path, tmp_path: Path) -> None:
    """A file that its owner has changed is put aside, and the answer says so."""
    target = tmp_path / "out"
    write(target, tree)
    (target / "prometheus.yml").write_text("scrape, as edited")

    written = write(target, tree)
    kept = target / "prometheus.yml.bak"
    assert written == [*(target / name for name in ALL[:-1]), kept, target / "prometheus.yml"]
    assert kept.read_text() == "scrape, as edited"
    assert (target / "prometheus.yml").read_text() == "scrape"


def test_what_was_kept_before_stays(tree: Path, tmp_path: Path) -> None:
    """A file that somebody had edited is there after any number of upgrades."""
    target = tmp_path / "out"
    for text in ("as edited", "of the release before", "of another"):
        target.mkdir(exist_ok=True)
        (target / "prometheus.yml").write_text(text)
        write(target, tree)
    kept = [target / f"prometheus.yml.{number}bak" for number in ("", "2.", "3.")]
    assert [path.read_text() for path in kept] == [
        "as edited",
        "of the release before",
        "of another",
    ]
    assert (target / "prometheus.yml").read_text() == "scrape"


def test_files_of_others_stay(tree: Path, tmp_path: Path) -> None:
    """Nothing is removed from the directory."""
    target = tmp_path / "out"
    (target / "alerts").mkdir(parents=True)
    (target / "alerts" / "own.yml").write_text("own rules")
    write(target, tree)
    assert (target / "alerts" / "own.yml").read_text() == "own rules"


def test_a_file_in_the_place_of_the_directory_is_an_error(tree: Path, tmp_path: Path) -> None:
    """It is named, and stays as it is."""
    target = tmp_path / "out"
    target.write_text("precious")
    with pytest.raises(BundleError) as raised:
        write(target, tree)
    assert str(raised.value) == f"{target} is a file; name a directory, which may be a new one"
    assert target.read_text() == "precious"


@pytest.mark.parametrize("taken", ["alerts", "prometheus.yml/x"])
def test_a_place_that_is_taken_is_an_error(tree: Path, tmp_path: Path, taken: str) -> None:
    """A file where a folder belongs, or a folder where a file belongs: one line, with the path."""
    target = tmp_path / "out"
    place = target / taken
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()
    with pytest.raises(BundleError) as raised:
        write(target, tree)
    assert str(raised.value).startswith(f"cannot write {target}")
    assert "\n" not in str(raised.value)


def test_a_directory_that_cannot_be_written_is_an_error(tree: Path) -> None:
    """One line with the path and the system's reason, also for whoever may write everywhere."""
    target = Path("/proc/nowhere")
    with pytest.raises(BundleError, match=r"^cannot write /proc/nowhere/alertmanager.yml: "):
        write(target, tree)


def test_a_package_without_them_is_an_error(tmp_path: Path) -> None:
    """It is not a bundle of nothing."""
    with pytest.raises(BundleError, match="no bundled files"):
        write(tmp_path / "out", tmp_path / "package")


def test_a_wheel_has_them_all() -> None:
    """What is bundled in the source tree has a place in the package, and tests have none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    places = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    bundled = {place: source for source, place in places.items()}
    for name, source in files().items():
        folder = str(PurePath(name).parent)
        place = bundled.get(f"exporter/bundled/{name}") or bundled.get(f"exporter/bundled/{folder}")
        assert place is not None, f"{name} is in no wheel"
        assert (ROOT / place).resolve() in {source.resolve(), source.parent.resolve()}
    for source in places:
        assert not list((ROOT / source).glob("*/")), f"all below {source} would be in a wheel"
