#!/usr/bin/env bash
# A part of the tests with the newest version of every dependency (PyTorch as in constraints.txt), on this Python and on
# others. Usage: bash scripts/other_versions.sh FOLDER [VERSION ...], for example build/versions 3.12 3.13
#
# What cannot be installed, for want of an interpreter, a network or room on the disk, is named and left out; so is what
# does not end in time. A test that fails fails the script.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1" && folder=$(cd "$1" && pwd) && shift
total=${TOTAL:-2400} # seconds of everything together
gigabytes=12         # of one environment: PyPI's PyTorch comes with CUDA
part=(
    tests/repository/test_public.py tests/test_target.py tests/repository/test_interoperability.py tests/test_files.py tests/test_persistence.py
    tests/repository/test_readme.py tests/preprocessing tests/datasets tests/baselines/test_contract.py
    tests/cli/test_fit.py tests/cli/test_predict.py tests/cli/test_read_table.py
    tests/plots tests/estimators/test_sklearn_habits.py tests/estimators/test_inputs.py
)
failed=0

say() { echo "other versions: $*"; }

left() { echo $((total > SECONDS + 1 ? total - SECONDS : 1)); }

interpreter() { # the path of a Python of a version, fetched where there is none
    local found
    for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python "/usr/bin/python$1"; do
        if "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            command -v "$found" && return
        fi
    done
    [ -x "$uv" ] && timeout 120 "$uv" python install --quiet --install-dir "$folder/pythons" "$1" 2>/dev/null || return 1
    ls -d "$folder"/pythons/cpython-"$1".*/bin/python | head -1
}

try() { # name of the run, interpreter
    local name=$1 python=$2 environment=$folder/$1 torch code
    if [ "$(df --output=avail -BG "$folder" | tail -1 | tr -dc 0-9)" -lt "$gigabytes" ]; then
        say "$name left out: less than $gigabytes GB free"
        return
    fi
    torch=$(grep '^torch==' constraints.txt)
    rm -rf "$environment"
    if ! "$python" -m venv "$environment" ||
        ! timeout "$(left)" "$environment/bin/pip" install --quiet --disable-pip-version-check "$torch" -e ".[dev]" ||
        # lifelines, which only some tests compare with, holds pandas below 3
        ! timeout "$(left)" "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --upgrade pandas; then
        say "$name left out: its packages could not be installed"
        return
    fi
    say "$name: $("$environment/bin/python" -c "
import sys, numpy, pandas, sklearn, torch
print('Python', sys.version.split()[0], *(f'{one.__name__} {one.__version__}' for one in (numpy, pandas, sklearn, torch)))")"
    OMP_NUM_THREADS=1 timeout "$(left)" "$environment/bin/python" -m pytest -n 2 -p no:cacheprovider "${part[@]}"
    code=$?
    if [ "$code" = 124 ]; then
        say "$name not judged: the tests did not end within the $total s of all"
    elif [ "$code" != 0 ]; then
        say "$name FAILED" && failed=1
    fi
    rm -rf "$environment"
}

uv=$folder/tools/bin/uv # fetches interpreters
if [ $# -gt 0 ]; then
    timeout 300 python3 -m venv "$folder/tools" && timeout 300 "$folder/tools/bin/pip" install --quiet --disable-pip-version-check uv ||
        say "uv could not be installed: only versions of Python that are here are tried"
fi
try newest "$(command -v python3)"
for version in "$@"; do
    if python=$(interpreter "$version") && [ -n "$python" ]; then
        try "python-$version" "$python"
    else
        say "Python $version left out: there is none here, and none could be fetched"
    fi
done
exit "$failed"
