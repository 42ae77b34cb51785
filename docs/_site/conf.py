"""How Sphinx makes the site of docs/*.md: `make docs`. Nothing that a page shows comes from another host."""

from __future__ import annotations

import sys
from pathlib import Path

import gibbsafe

sys.path.insert(0, str(Path(__file__).parent))

project = "gibbsafe"
author = "The gibbsafe developers"
project_copyright = author
release = version = gibbsafe.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "steps"]
exclude_patterns = ["_build", "_site", "skeletons"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "none"
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # annotations name types of NumPy and of ours that no page describes
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "gibbsafe"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []
