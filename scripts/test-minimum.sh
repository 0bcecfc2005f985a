#!/bin/sh
# Runs the fast tests with the oldest releases of the dependencies that pyproject.toml allows, in an
# environment of its own:
#   scripts/test-minimum.sh [PYTHON]            any Python, by name or path
#   scripts/test-minimum.sh PYTHON --newest     the newest releases, for another Python than .venv's
#   TESTS='tests/test_config.py' scripts/…      some of the tests
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
resolution=lowest-direct
[ "${2:-}" != --newest ] || resolution=highest

uv=$PWD/.venv/bin/uv
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
bin=$place/venv/bin

"$uv" venv --quiet --python "$python" "$place/venv"
# The dependencies as asked for, and what builds the package; the tools of the tests are no promise,
# and come in their newest.
"$uv" pip compile --quiet --resolution "$resolution" --python "$bin/python" \
    --no-header --no-annotate pyproject.toml --output-file "$place/dependencies.txt"
"$bin/python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' |
    "$uv" pip compile --quiet --resolution "$resolution" --python "$bin/python" \
        --no-header --no-annotate - --output-file "$place/build.txt"
"$uv" pip install --quiet --python "$bin/python" --constraints "$place/dependencies.txt" \
    --build-constraints "$place/build.txt" --editable '.[dev]'
echo "$("$bin/python" --version), with:"
cat "$place/dependencies.txt" "$place/build.txt"
# shellcheck disable=SC2086
PATH="$bin:$PATH" "$bin/python" -m pytest -q -p no:cacheprovider \
    -m "not scale and not slow" ${TESTS:-}
