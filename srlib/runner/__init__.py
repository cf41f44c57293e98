"""Run notebooks, and keep their results and reports."""

import sys

# jsonschema, which jupytext, nbformat and papermill import, builds the grammar of
# international web addresses on import: 2 s for a check that is not used here. Without
# the module it skips this.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
