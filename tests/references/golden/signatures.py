"""The public API of a checkout: every public name with its signature, without annotations."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["api_difference", "signatures"]

DIRECTIVE = re.compile(
    r"^\.\. auto(module|class|function|data|exception):: ([\w.]+)(?:\(.*\))?$((?:\n   .*)*)", re.M
)
SUMMARY = re.compile(r"^   (lifemix\.[\w.]+)$", re.M)  # a name in an autosummary
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def signatures(checkout: Path) -> dict[str, str]:
    """Return name -> signature of what ``lifemix.__all__`` and the pages in docs/api list, and of the commands."""
    import lifemix

    public: dict[str, str] = {}
    for name in lifemix.__all__:
        public |= _described(f"lifemix.{name}", getattr(lifemix, name))
    for page in sorted((checkout / "docs" / "api").glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for name in SUMMARY.findall(text):
            public |= _described(name, _resolve(name))
        for kind, name, options in DIRECTIVE.findall(text):
            if kind != "module" or ":no-members:" not in options:
                public |= _described(name, _resolve(name))
    return dict(sorted((public | _commands()).items()))


def api_difference(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return one line per name that was removed, added or changed."""
    lines = [f"removed  {name}{old[name]}" for name in old.keys() - new.keys()]
    lines += [f"added    {name}{new[name]}" for name in new.keys() - old.keys()]
    shared = old.keys() & new.keys()
    lines += [
        f"changed  {name}{old[name]} -> {new[name]}" for name in shared if old[name] != new[name]
    ]
    return sorted(lines, key=lambda line: (line.split()[0] != "removed", line))


def _resolve(name: str) -> Any:
    """Return the object of a dotted name, importing as many modules as needed."""
    parts = name.split(".")
    for n_modules in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:n_modules]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[n_modules:]:
            value = getattr(value, attribute)
        return value
    raise ModuleNotFoundError(name)


def _described(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, ModuleType):
        described: dict[str, str] = {}
        for member in value.__all__:
            described |= _described(f"{name}.{member}", getattr(value, member))
        return described
    if not callable(value):
        return {name: f": {type(value).__name__}"}
    described = {name: _signature(value)}
    if inspect.isclass(value):
        described |= {f"{name}.{method}": text for method, text in _methods(value).items()}
    return described


def _methods(cls: type) -> dict[str, str]:
    """Return the public methods and properties that classes of lifemix define for a class."""
    bases = [base for base in cls.__mro__ if base.__module__.split(".")[0] == "lifemix"]
    names = {
        name
        for base in bases
        for name in vars(base)
        if not name.startswith("_") or name == "__call__"
    }
    methods = {}
    for name in names:
        attribute = inspect.getattr_static(cls, name)
        if isinstance(attribute, classmethod | staticmethod):
            attribute = getattr(cls, name)
        attribute = getattr(attribute, "fn", attribute)  # available_if of scikit-learn
        if callable(attribute) and not inspect.isclass(attribute):
            methods[name] = _signature(attribute)
        else:
            methods[name] = ": attribute"
    return methods


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return ADDRESS.sub("", str(plain))


def _commands() -> dict[str, str]:
    """Return the arguments and options of each command of the program."""
    from typer.main import get_command

    from lifemix.cli import app

    commands = getattr(get_command(app), "commands", {})
    return {
        f"command lifemix {name}": " "
        + " ".join(sorted("/".join(option.opts) for option in command.params))
        for name, command in commands.items()
    }
