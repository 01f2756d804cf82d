"""Numpydoc docstrings: their sections, and the parameters that they document."""

import doctest
import importlib
import inspect
import re
from itertools import pairwise

MODULES = (
    "lifemix",
    "lifemix.baselines",
    "lifemix.datasets",
    "lifemix.distribution",
    "lifemix.encoders",
    "lifemix.errors",
    "lifemix.estimators",
    "lifemix.export",
    "lifemix.histories",
    "lifemix.metrics",
    "lifemix.plots",
    "lifemix.preprocessing",
    "lifemix.primitives",
    "lifemix.report",
    "lifemix.scoring",
    "lifemix.splits",
)
SECTIONS = (
    *("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes"),
    *("References", "Examples"),
)


def public_objects(modules=MODULES):
    """Return the public functions and classes, {"lifemix.metrics.brier_score": function}, each under one name."""
    found = {}
    for module_name in modules:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                found.setdefault(thing, f"{module_name}.{name}")
    return {name: thing for thing, name in found.items()}


def public_methods(cls):
    """Return the public methods that our own classes give a class, {name: function}; class methods unbound."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("lifemix")]
    found = {}
    for name in {name for base in ours for name in vars(base) if not name.startswith("_")}:
        method = inspect.getattr_static(cls, name)
        if isinstance(method, (classmethod, staticmethod)):
            method = getattr(cls, name)
        method = getattr(method, "fn", method)  # of scikit-learn's available_if
        if inspect.isfunction(method) or inspect.ismethod(method):
            found[name] = method
    return dict(sorted(found.items()))


def sections(docstring):
    """Return the sections of a docstring, {title: lines}; the text before the first of them is under ""."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found, title = {"": []}, ""
    for line, after in pairwise([*lines, ""]):
        if line in SECTIONS and re.fullmatch("-+", after):
            title = line
            found[title] = []
        elif not re.fullmatch("-{3,}", line):
            found[title].append(line)
    return found


def documented(lines):
    """Return the names of a list of parameters, and those without a type or without a meaning."""
    names, incomplete = [], []
    for line, after in pairwise([*lines, ""]):
        if not line or line.startswith(" "):
            continue
        head, colon, kind = line.partition(" : ")
        here = [name.strip().lstrip("*") for name in head.split(",")]
        names += here
        if not colon or not kind.strip() or not after.startswith("    "):
            incomplete += here
    return names, incomplete


def parameters(thing):
    """Return the names in a signature, without self and cls; those of a protocol are nobody's."""
    if getattr(thing, "_is_protocol", False):
        return []
    try:
        names = list(inspect.signature(thing).parameters)
    except ValueError:  # classes of C
        return []
    return [name for name in names if name not in ("self", "cls")]


def faults(thing, name, is_method=False):
    """Return what the docstring of a public function, class or method lacks, one sentence per fault."""
    text = inspect.getdoc(thing)  # a method without one has that of the base class
    if not text:
        return [f"{name} has no docstring"]
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    parts = sections(text)
    found = _parameter_faults(thing, name, parts)
    returns_nothing = inspect.isclass(thing) or inspect.signature(thing).return_annotation in (
        None,
        "None",
    )
    if not returns_nothing and not {"Returns", "Yields"} & set(parts):
        found.append(f"{name} has no section Returns")
    if not is_method and ">>> " not in "\n".join(parts.get("Examples", ())):
        found.append(f"{name} has no section Examples")
    return found


def _parameter_faults(thing, name, parts):
    lines = parts.get("Parameters", [])
    if inspect.isclass(thing) and not lines:
        lines = parts.get("Attributes", [])  # of a class that users get, and do not make
    names, incomplete = documented(lines)
    expected = parameters(thing)
    found = [f"{name}: {wanted} is not documented" for wanted in expected if wanted not in names]
    if "Parameters" in parts and not inspect.isabstract(
        thing
    ):  # whose signature is that of its subclasses
        found += [
            f"{name}: {extra} is documented and not in the signature"
            for extra in names
            if extra not in expected
        ]
    found += [f"{name}: {one} needs 'name : type' and a meaning below" for one in incomplete]
    return found


def run_examples(thing, name):
    """Run the examples of an object and of its methods; return how many failed, and what was printed about them."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    printed = []
    for test in doctest.DocTestFinder(recurse=True).find(thing, name, globs={}):
        runner.run(test, out=printed.append, clear_globs=True)
    return runner.summarize(verbose=False), "".join(printed)
