"""How Sphinx makes the site of these pages: ``make docs``."""

import sys
from pathlib import Path

import shareboost
from paper import NAMES

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "shareboost"
author = "The shareboost developers"
copyright = author
version = release = shareboost.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "places",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = [f"paper/{name}.md" for name in NAMES]  # of which paper/README.md is made
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # quotes are mostly those of code

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# Every public name of a module, by its __all__; a docstring's single backticks are code.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings tell
autodoc_member_order = "bysource"
default_role = "code"
numpydoc_show_class_members = False

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"shareboost {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
# Only what is typed is copied from a console's lines.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
