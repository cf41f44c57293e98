"""Disclosure risk of synthetic data: the shared library behind four executable papers."""

import sys

# jsonschema, which altair, nbformat and papermill import, builds the grammar of international
# web addresses on import: 2 s for a check that nothing here asks for. It does without when the
# module is not to be had.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
