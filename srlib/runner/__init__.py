"""What executes notebooks and keeps what they leave."""

import sys

# jsonschema, which jupytext, nbformat and papermill import, builds the grammar of international
# web addresses on import: 2 s for a check that nothing here asks for. It does without when the
# module is not to be had.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
