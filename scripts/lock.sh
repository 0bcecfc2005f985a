#!/bin/sh
# Writes requirements/*.txt anew: each dependency at one version, with the hashes of its files, for
# every Python and platform that pyproject.toml allows. The Dockerfile installs from them.
#   scripts/lock.sh             take what is newest
#   scripts/lock.sh --keep      change no more than pyproject.toml asks for
set -eu
cd "$(dirname "$0")/.."
uv=.venv/bin/uv

freshness=--upgrade
[ "${1:-}" != --keep ] || freshness=

lock() {
    # Neither an index's address nor a path of this machine comes into the file.
    # shellcheck disable=SC2086
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --custom-compile-command scripts/lock.sh \
        $freshness "$@"
}

lock pyproject.toml --extra client-certificates --output-file requirements/runtime.txt
.venv/bin/python -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' |
    lock - --output-file requirements/build.txt
