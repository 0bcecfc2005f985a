#!/bin/sh
# Makes the virtual environment, with a clear word where Python can't.
set -eu
python=$1
venv=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "Python 3.11 or newer is needed; '$python' is $("$python" --version 2>&1 || echo missing)." >&2
    echo "Name another one: make run PYTHON=python3.12" >&2
    exit 1
fi

# Debian's python3 comes without ensurepip, which a virtual environment needs.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
    else
        echo "Python's venv module is incomplete. On Debian: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi

"$python" -m venv "$venv"
