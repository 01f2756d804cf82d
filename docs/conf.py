"""The documentation site: ``make docs`` builds it into build/docs."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import lifemix  # noqa: E402

project = "lifemix"
author = copyright = "the lifemix authors"  # noqa: A001
release = version = lifemix.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "mathtext",
]
exclude_patterns = ["_ext", "_templates", "figures"]
templates_path = ["_templates"]

nb_execution_mode = "force"  # the tutorials run in every build; a cell that fails stops it
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathtext"

autodoc_typehints = "none"  # types, shapes and meanings are in the docstrings
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [
    ("Attributes", "params_style")
]  # one list, with the underscores of fitted attributes
napoleon_preprocess_types = True
napoleon_type_aliases = {"target": ":term:`target`", "array-like": ":term:`array-like`"}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"lifemix {release}"
html_static_path = ["_static"]
html_css_files = ["lifemix.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn gives its estimators."""
    module = getattr(obj, "__module__", None) or "lifemix"
    return skip or not module.startswith("lifemix")


def setup(app):
    """Connect the events of the build."""
    app.connect("autodoc-skip-member", skip_foreign_members)
