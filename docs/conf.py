"""Configuration of Sphinx: `sphinx-build -W -b html docs docs/_build/html`. Neither build nor pages use the network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from public_names import documented_elsewhere  # noqa: E402  # its folder is on the path from here on

from iokr import __version__  # noqa: E402  (the package may not be installed)

project = "iokr"
author = "the iokr developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "public_names",
    "experiments",
    "changelog",
    "sphinx-mathjax-offline",  # copies MathJax to _static/mathjax
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"  # `name` is code, and a link where the name is documented
nitpicky = False
highlight_language = "python3"

# One page for each name of each `__all__`; the members of a class are listed by the template of classes.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_context = {"elsewhere": documented_elsewhere()}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False

# Every script in examples/ and tutorials/ is run, and its code and figures become a page; nothing of that is committed.
sphinx_gallery_conf = {
    "examples_dirs": ["../tutorials", "../examples"],
    "gallery_dirs": ["auto_tutorials", "auto_examples"],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "reference_url": {"iokr": None},
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

# Formulas are typeset in the browser by the copy of MathJax in _static of the pages.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "pydata_sphinx_theme"
html_title = "iokr"
html_static_path = ["_static"]
html_css_files = ["iokr.css"]
html_js_files = ["copy.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {name: [] for name in ("index", "start", "faq", "notation", "glossary", "changelog")}
