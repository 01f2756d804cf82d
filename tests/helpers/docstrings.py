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
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
)


def public_objects():
    """Return the public functions and classes, {"lifemix.metrics.brier_score": function}, each under one name."""
    names = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isfunction(item) or inspect.isclass(item):
                names.setdefault(item, f"{module_name}.{name}")
    return {name: item for item, name in names.items()}


def public_methods(cls):
    """Return the public methods that our classes give a class, {name: function}; class methods unbound."""
    methods = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("lifemix"):
            continue
        for name in vars(base):
            method = inspect.getattr_static(cls, name)
            if isinstance(method, classmethod | staticmethod):
                method = getattr(cls, name)
            method = getattr(method, "fn", method)  # of scikit-learn's available_if
            is_method = inspect.isfunction(method) or inspect.ismethod(method)
            if is_method and not name.startswith("_"):
                methods[name] = method
    return dict(sorted(methods.items()))


def sections(docstring):
    """Return the sections of a docstring, {title: lines}; the text before the first of them is under ""."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    title = ""
    content = {title: []}
    for line, next_line in pairwise([*lines, ""]):
        if line in SECTIONS and re.fullmatch("-+", next_line):
            title = line
            content[title] = []
        elif not re.fullmatch("-{3,}", line):
            content[title].append(line)
    return content


def documented(lines):
    """Return the names of a list of parameters, and those without a type or without a meaning."""
    names, incomplete = [], []
    for line, next_line in pairwise([*lines, ""]):
        if not line or line.startswith(" "):
            continue
        head, _, annotation = line.partition(" : ")
        line_names = [name.strip().lstrip("*") for name in head.split(",")]
        names += line_names
        if not annotation.strip() or not next_line.startswith("    "):
            incomplete += line_names
    return names, incomplete


def parameters(item):
    """Return the names in a signature, without self and cls; a protocol has none."""
    if getattr(item, "_is_protocol", False):
        return []
    try:
        names = list(inspect.signature(item).parameters)
    except ValueError:  # classes of C
        return []
    return [name for name in names if name not in ("self", "cls")]


def faults(item, name, is_method=False):
    """Return what the docstring of a public function, class or method lacks, one sentence per fault."""
    text = inspect.getdoc(item)  # a method without one has that of the base class
    if not text:
        return [f"{name} has no docstring"]
    is_class = inspect.isclass(item)
    if is_class and issubclass(item, Exception):
        return []
    content = sections(text)
    problems = parameter_faults(item, name, content)
    returns_value = not is_class and inspect.signature(item).return_annotation not in (None, "None")
    if returns_value and not {"Returns", "Yields"} & set(content):
        problems.append(f"{name} has no section Returns")
    if not is_method and ">>> " not in "\n".join(content.get("Examples", ())):
        problems.append(f"{name} has no section Examples")
    return problems


def parameter_faults(item, name, content):
    lines = content.get("Parameters", [])
    if inspect.isclass(item) and not lines:
        lines = content.get("Attributes", [])  # of a class that users get and do not make
    names, incomplete = documented(lines)
    expected = parameters(item)
    problems = [
        f"{name}: {parameter} is not documented" for parameter in expected if parameter not in names
    ]
    problems += [
        f"{name}: {parameter} needs 'name : type' and a meaning below" for parameter in incomplete
    ]
    # An abstract class documents the parameters of its subclasses.
    if "Parameters" in content and not inspect.isabstract(item):
        problems += [
            f"{name}: {parameter} is documented and not in the signature"
            for parameter in names
            if parameter not in expected
        ]
    return problems


def run_examples(item, name):
    """Run the examples of an object and of its methods; return how many failed, and the printed differences."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    printed = []
    for test in doctest.DocTestFinder(recurse=True).find(item, name, globs={}):
        runner.run(test, out=printed.append, clear_globs=True)
    return runner.summarize(verbose=False), "".join(printed)
