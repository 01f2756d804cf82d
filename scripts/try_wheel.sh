#!/usr/bin/env bash
# Install the wheel of a folder in an empty environment, without any extra, and use it as the README does.
# Usage: bash scripts/try_wheel.sh dist build/wheel
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(ls "$(cd "$1" && pwd)"/lifemix-*.whl)
rm -rf "$2" && mkdir -p "$2" && cd "$2"
"${PYTHON:-python3}" -m venv env
env/bin/pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" "$wheel"
export OMP_NUM_THREADS=1
awk '/^```python/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md" >readme.py
env/bin/python -W error readme.py
env/bin/lifemix datasets metabric -o metabric.csv
env/bin/lifemix fit metabric.csv --time time --event event --model dsm --holdout-to rest.csv -o model.safetensors --quiet
env/bin/lifemix predict model.safetensors rest.csv -o predictions.csv
env/bin/lifemix evaluate model.safetensors rest.csv --quiet
env/bin/lifemix calculator model.safetensors -o calculator.html
if env/bin/lifemix report model.safetensors rest.csv -o report.html; then
    echo "a report was written without matplotlib: is the environment empty?" && exit 1
fi
env/bin/pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" matplotlib
env/bin/lifemix report model.safetensors rest.csv -o report.html
env/bin/python -W error - <<'PYTHON'
import pandas
import lifemix

model = lifemix.load("model.safetensors")
rows = pandas.read_csv("rest.csv").drop(columns=["time", "event"])
assert "site-packages" in lifemix.__file__, lifemix.__file__
assert model.predict_survival_function(rows, [60.0, 120.0]).shape == (len(rows), 2)
PYTHON
echo "$(basename "$wheel"): installed, fitted, predicted, reported and loaded"
