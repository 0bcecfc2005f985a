"""The package as it is built and installed, in places where nothing of the repository is."""

import re
import tarfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from benchmarks.processes import running
from exporter import __version__
from exporter.revision import WRITTEN, of_tree
from tests.deploy.programs import BIN, run

pytestmark = pytest.mark.scale

ROOT = Path(__file__).parent.parent
NAME = f"gpu_cluster_exporter-{__version__}"
WHEEL = f"{NAME}-py3-none-any.whl"
SHOWN = (
    "/",
    "/metrics",
    "/dashboards/",
    "/dashboards/gpu-fleet.json",
    "/alerts/",
    "/alerts/scp.yml",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the sdist, and with the wheel that was made of it."""
    folder = tmp_path_factory.mktemp("dist")
    run(BIN / "python", "-m", "build", "--installer=uv", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the bin folder of an environment that was empty before the wheel was put into it."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder)
    run(BIN / "uv", "pip", "install", "--python", folder / "bin" / "python", built / WHEEL)
    return folder / "bin"


def bundled() -> set[str]:
    """Return the names of what comes along, from the repository."""
    return {
        "alertmanager.yml",
        "prometheus.yml",
        *(f"alerts/{path.name}" for path in (ROOT / "alerts").glob("*.yml")),
        *(f"dashboards/{path.name}" for path in (ROOT / "dashboards").glob("*.json")),
    }


def in_wheel(path: Path) -> dict[str, bytes]:
    """Return what a wheel holds."""
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def test_both_are_built_and_fit_to_be_published(built: Path) -> None:
    """The version is the package's own, and the description can be shown."""
    files = sorted(path.name for path in built.iterdir() if path.suffix != "")
    assert files == [WHEEL, f"{NAME}.tar.gz"]
    run(BIN / "twine", "check", "--strict", *(built / name for name in files))


def test_the_wheel_is_the_same_whether_of_the_sdist_or_of_the_tree(
    built: Path, tmp_path: Path
) -> None:
    """So that whoever builds from the sdist has what was tested."""
    run(BIN / "python", "-m", "build", "--installer=uv", "--wheel", "--outdir", tmp_path, ROOT)
    assert in_wheel(tmp_path / WHEEL) == in_wheel(built / WHEEL)


def test_the_commit_is_written_into_both(built: Path) -> None:
    """The wheel knows it from the sdist, in which there is no history to ask."""
    commit = f"{of_tree(ROOT)}\n".encode()
    assert in_wheel(built / WHEEL)[f"exporter/{WRITTEN}"] == commit
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        written = sdist.extractfile(f"{NAME}/exporter/{WRITTEN}")
        assert written is not None
        assert written.read() == commit


def test_a_source_tree_without_history_is_built_all_the_same(built: Path, tmp_path: Path) -> None:
    """Nothing is made up for a commit that nobody knows."""
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        sdist.extractall(tmp_path, filter="data")
    (tmp_path / NAME / "exporter" / WRITTEN).unlink()
    command = (BIN / "python", "-m", "build", "--installer=uv", "--wheel", "--outdir", tmp_path)
    run(*command, tmp_path / NAME)
    assert in_wheel(tmp_path / WHEEL)[f"exporter/{WRITTEN}"] == b"\n"


def test_the_wheel_has_the_package_and_what_comes_along(built: Path) -> None:
    """And neither tests nor leftovers."""
    names = in_wheel(built / WHEEL).keys()
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "exporter").rglob("*.py")}
    assert package <= names
    assert "exporter/py.typed" in names
    prefix = "exporter/bundled/"
    found = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    assert found == bundled()
    for name in names:
        assert re.match(rf"exporter/|{re.escape(NAME)}\.dist-info/", name), name
        assert not name.endswith((".pyc", ".gitkeep"))


def test_the_sdist_has_what_people_read_and_no_leftover(built: Path) -> None:
    """Licence, readme, changes, documentation, deployment; no environment, cache or key."""
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        names = {name.removeprefix(f"{NAME}/") for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "docs/scaling.md", "Dockerfile"} <= names
    assert {"deploy/docker-compose.yml", "requirements/runtime.txt"} <= names
    for name in names:
        assert not name.startswith("deploy/compose/exporter/secrets/")
        assert not re.search(r"(^|/)(\.venv|\.git|__pycache__|\.coverage|\.hypothesis)(/|$)", name)


def test_the_command_says_the_version(installed: Path) -> None:
    """Of the package that was built."""
    assert run(installed / "gpu-cluster-exporter", "--version") == (
        f"gpu-cluster-exporter {__version__}\n"
    )


def test_what_is_installed_writes_the_bundle(installed: Path, tmp_path: Path) -> None:
    """Every rule, dashboard and example, each as it is in the repository."""
    run(installed / "gpu-cluster-exporter", "bundle", tmp_path / "out", cwd=tmp_path)
    written = {
        str(path.relative_to(tmp_path / "out")): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert written.keys() == bundled()
    for name, content in written.items():
        folder = ROOT if "/" in name else ROOT / "deploy"
        assert content == (folder / name).read_bytes(), name


def test_what_is_installed_runs_the_demo(built: Path, installed: Path, tmp_path: Path) -> None:
    """With its commit, the status page, the dashboards and the rules, away from the repository."""
    commit = in_wheel(built / WHEEL)[f"exporter/{WRITTEN}"].decode().strip()
    shown: dict[str, str] = {}
    flags = ("--web.listen-address=127.0.0.1:0", "--log.format=json")
    with running(
        [str(installed / "gpu-cluster-exporter"), "demo", *flags], directory=tmp_path
    ) as demo:
        url = ""
        while not url:
            _ = demo.port  # raises where it has ended
            time.sleep(0.05)
            url = "".join(re.findall(r'"addresses": ?"(http:[^ "]+)', demo.output())[:1])
        for path in SHOWN:
            with urllib.request.urlopen(url + path) as answer:  # noqa: S310 - loopback
                assert answer.status == 200, path
                shown[path] = answer.read().decode()
                assert shown[path], path
    assert re.search(rf'_build_info\{{[^}}]*revision="{commit}"', shown["/metrics"])
