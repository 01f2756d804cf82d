"""Write model files with the version that is installed, and what their models predict: run with version 0.2.0.

PYTHONPATH=src:tests python tests/references/model_files_0_2_0/make.py
"""

import json
from pathlib import Path

import lifemix
from saved_models import data, fitted, predictions

NAMES = ("CoxPH", "CauseSpecific CoxPH", "DeepSurvivalMachines", "ModelAverage")


def main() -> None:
    """Write the files beside this one."""
    folder, expected = Path(__file__).parent, {"version": lifemix.__version__, "cases": {}}
    for name in NAMES:
        model = fitted(name)
        X, y = data(model.n_events_)
        lifemix.save(model, folder / f"{name}.safetensors".replace(" ", "_"))
        found = {key: values.tolist() for key, values in predictions(model, X.iloc[:4]).items()}
        found |= {"score": model.score(X, y), "last_event_time": model.last_event_time_, "rows": len(y)}
        expected["cases"][name] = found
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
