"""The image's recipe, and what of it can be carried out without a container engine.

No engine is asked for: the steps of both stages are run by their own words, in a directory whose
paths are those of the image. What is not run: the base image (the machine's own Python stands in
for it), layers and labels, and how an engine starts the process and its health check.
"""

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.processes import running
from exporter import __version__, flags
from tests.deploy import containerfile
from tests.deploy.containerfile import ROOT, Step, labels, only
from tests.deploy.programs import BIN, outcome, run

BUILD, FINAL = containerfile.stages((ROOT / "Dockerfile").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOBODY = 65532
REVISION = "made-up-0123"
CONFIG = """\
nsml:
  - {account: research, access_key: a1, secret_key: s1, api_key: k1, endpoint: "http://127.0.0.1:9"}
"""


def test_hadolint_finds_nothing() -> None:
    """The usual mistakes are made nowhere."""
    done = outcome(BIN / "hadolint", ROOT / "Dockerfile")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_runs_as_nobody_by_number() -> None:
    """Kubernetes' runAsNonRoot can't tell who a name is."""
    assert only(FINAL, "USER").rest == f"{NOBODY}:{NOBODY}"


def test_it_is_started_without_a_shell() -> None:
    """Signals reach the exporter itself; each command is one that it has."""
    assert only(FINAL, "ENTRYPOINT").form == [PROJECT["name"]]
    assert only(FINAL, "CMD").form == ["serve"]
    assert flags.parse(only(FINAL, "CMD").form).command == "serve"


def test_its_health_is_asked_by_the_exporter_itself() -> None:
    """The image needs no curl, and a password of the daemon's is none of its business."""
    program, *argv = only(FINAL, "HEALTHCHECK").form
    asked = flags.parse(argv)
    assert (program, asked.command, asked.ready) == (PROJECT["name"], "healthcheck", False)


def test_the_port_is_the_exporters() -> None:
    """There is one constant, and the image names it."""
    assert only(FINAL, "EXPOSE").rest == str(flags.PORT)


def test_the_labels_are_those_of_the_package() -> None:
    """Name, description, licence and version come from one place each, the commit from outside."""
    assert only(BUILD, "ARG").rest == "REVISION="
    assert {step.rest for step in FINAL if step.word == "ARG"} == {
        f"VERSION={__version__}",
        "REVISION=",
    }
    prefix = "org.opencontainers.image."
    assert labels(only(FINAL, "LABEL")) == {
        f"{prefix}title": PROJECT["name"],
        f"{prefix}description": PROJECT["description"],
        f"{prefix}licenses": PROJECT["license"],
        f"{prefix}version": "${VERSION}",
        f"{prefix}revision": "${REVISION}",
    }


def test_the_final_stage_takes_only_what_was_installed() -> None:
    """No tool, source or cache of the build comes along; what is left is to run it."""
    [copied] = [step.rest for step in FINAL if step.word == "COPY"]
    assert copied == "--from=build /opt/exporter /opt/exporter"
    [ran] = [step.rest for step in FINAL if step.word == "RUN"]
    assert "pip uninstall" in ran


def test_the_context_holds_what_is_copied_and_nothing_else() -> None:
    """No secret, virtual environment or history is sent to the engine."""
    copied = [path for step in BUILD if step.word == "COPY" for path in step.paths[0]]
    allowed = list(containerfile.context())
    for path in allowed:
        assert any(path.is_relative_to(source) for source in copied), f"{path} is not needed"
        assert path.suffix != ".pyc"
        assert "tests" not in path.parts
    for source in copied:
        assert any(path.is_relative_to(source) for path in allowed), f"{source} is kept away"


@pytest.mark.parametrize("name", ["runtime", "build"])
def test_the_lock_names_each_file_by_its_hash(name: str) -> None:
    """Whatever a registry serves, only these files are installed; where from is not said."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    for requirement in re.split(r"\n(?=\w)", re.sub(r"(?m)^\s*#.*\n", "", text).strip()):
        assert re.match(r"[\w.-]+==[\w.]+( ; [^\\]+)? \\\n", requirement), requirement
        assert "--hash=sha256:" in requirement
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


def test_the_lock_has_every_dependency() -> None:
    """One that is added to pyproject.toml is locked with it: scripts/lock.sh --keep."""
    text = (ROOT / "requirements" / "runtime.txt").read_text()
    locked = set(re.findall(r"(?m)^([\w.-]+)==", text))
    wanted = {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in PROJECT["dependencies"]}
    assert wanted <= locked


@dataclass(frozen=True)
class Image:
    """A directory in which the image's paths stand, and who may act in it."""

    directory: Path
    variables: dict[str, str]

    @property
    def root(self) -> Path:
        """The image's file system."""
        return self.directory / "root"

    def build(self, step: Step) -> None:
        """Carry out a RUN of the build stage, where /opt is the image's."""
        private = f"mount --bind {self.root}/opt /opt && cd {self.directory}/src && "
        run("unshare", "--mount", "sh", "-ec", private + step.rest, env=self.variables)

    def command(self, *command: str) -> list[str]:
        """Return how to run a command in the image, read-only, with its user and variables."""
        prepare = "\n".join(
            [
                f"cd {self.root}",
                "mount --rbind . .",
                f"cd {self.root}",
                "mount --rbind /usr usr",
                "mount --rbind /dev dev",
                "mount -o remount,ro,bind .",
                "mount -o remount,ro,bind usr",
                f'exec chroot --userspec={NOBODY}:{NOBODY} --groups= . "$@"',
            ]
        )
        shell = ["unshare", "--mount", "sh", "-ec", prepare, "sh"]
        place = ["env", "-i", f"--chdir={only(FINAL, 'WORKDIR').rest}"]
        return [*shell, *place, *environment(FINAL), *command]

    def enter(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the image to its end."""
        return outcome(*self.command(*command))


def environment(stage: list[Step]) -> list[str]:
    """Return the variables that a stage sets."""
    return only(stage, "ENV").rest.replace("$PATH", "/usr/bin:/bin").split()


def python_of_the_system() -> str:
    """Return a Python that everybody may run, in /usr."""
    for place in os.get_exec_path({"PATH": "/usr/local/bin:/usr/bin"}):
        for version in ("3.13", "3.12", "3.11"):
            if found := shutil.which(f"python{version}", path=place):
                return found
    return ""


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Give what the Dockerfile makes, as far as a directory can hold it."""
    python = python_of_the_system()
    if os.geteuid() != 0 or not shutil.which("unshare") or not python:
        pytest.skip("NEEDS root on Linux with unshare and a Python in /usr")
    with tempfile.TemporaryDirectory() as directory:
        yield made(Path(directory), python)


def made(directory: Path, python: str) -> Image:
    """Carry out both stages."""
    directory.chmod(0o755)
    base = directory / "base"
    variables = {**os.environ, "PATH": f"{base}/bin:/usr/bin:/bin", "REVISION": REVISION}
    run(BIN / "uv", "venv", "--quiet", "--seed", "--python", python, base, env=variables)
    image = Image(directory, variables)
    for folder in ("opt", "usr", "dev", "tmp", "etc/gpu-cluster-exporter"):
        (image.root / folder).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (image.root / name).symlink_to(f"usr/{name}")
    for step in BUILD:
        if step.word == "COPY":
            copy(step, directory / "src")
        if step.word == "RUN":
            image.build(step)
    run("sh", "-ec", only(FINAL, "RUN").rest, env=variables)
    return image


def copy(step: Step, target: Path) -> None:
    """Carry out a COPY from the build's context."""
    sources, below = step.paths
    for path in containerfile.context():
        for source in sources:
            if path.is_relative_to(source):
                named = path.relative_to(source) if (ROOT / source).is_dir() else path.name
                place = target / below / named
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, place)


@pytest.mark.scale
def test_the_image_runs_read_only_as_nobody(image: Image) -> None:
    """Nothing is written, nothing of the sources is needed, and the version is the package's."""
    done = image.enter(*only(FINAL, "ENTRYPOINT").form, "--version")
    assert (done.returncode, done.stdout) == (0, f"gpu-cluster-exporter {__version__}\n"), done
    assert image.enter("sh", "-c", "touch /opt/exporter/x /tmp/x").returncode != 0


@pytest.mark.scale
def test_the_image_serves_and_its_health_check_tells(image: Image) -> None:
    """What is configured where the image looks for it is served, and known to live."""
    config = image.root / only(FINAL, "WORKDIR").rest.lstrip("/") / "gpu-cluster-exporter.yml"
    config.write_text(CONFIG)
    start, check = only(FINAL, "ENTRYPOINT").form, only(FINAL, "HEALTHCHECK").form
    served = image.command(*start, *only(FINAL, "CMD").form, "--web.listen-address=127.0.0.1:0")
    with running(served) as daemon:
        alive = image.enter(*check, "--url", daemon.url)
        page = urllib.request.urlopen(f"{daemon.url}/metrics").read().decode()  # noqa: S310
    gone = image.enter(*check, "--url", daemon.url)

    assert (alive.returncode, alive.stdout) == (0, "healthy\n"), alive
    assert re.search(r'_target_up\{[^}]*account="research"', page)
    assert re.search(rf'_build_info\{{[^}}]*revision="{REVISION}"', page)
    assert gone.returncode == 1


@pytest.mark.scale
def test_the_image_holds_no_tool_and_no_leftover(image: Image) -> None:
    """No installer, no cache, no source tree: only the packages, and the bundled files."""
    assert image.enter("python", "-c", "import pip").returncode != 0
    assert not list((image.directory / "base").rglob("pip")), "the base image's own"
    names = {path.name for path in image.root.rglob("*")}
    assert not names & {"pip", ".cache", "hatchling", "pyproject.toml", "__editable__"}
    done = image.enter("python", "-c", "from exporter import bundle; print(*bundle.files())")
    assert done.stdout.split() == sorted(bundled()), done.stderr


def bundled() -> list[str]:
    """Return the names of what has to be bundled, from the repository."""
    return [
        "alertmanager.yml",
        "prometheus.yml",
        *(f"alerts/{path.name}" for path in (ROOT / "alerts").glob("*.yml")),
        *(f"dashboards/{path.name}" for path in (ROOT / "dashboards").glob("*.json")),
    ]


@pytest.mark.scale
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_everything_locked_needs_no_compiler(machine: str, tmp_path: Path) -> None:
    """For the Python of the base image there is a wheel of each, on both kinds of machines."""
    base = re.search(r"ARG PYTHON=python:(\d\.\d+)-", (ROOT / "Dockerfile").read_text())
    assert base is not None
    told = outcome(
        *(BIN / "uv", "pip", "install", "--dry-run", "--no-deps", "--require-hashes"),
        *("--only-binary=:all:", f"--python-platform={machine}-manylinux_2_28"),
        *(f"--python-version={base[1]}", f"--target={tmp_path / 'none'}"),
        *("--requirement", ROOT / "requirements" / "runtime.txt"),
    )
    assert told.returncode == 0, told.stderr
