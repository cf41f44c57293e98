"""Import Altair in a third of the time.

jsonschema, which Altair imports, builds the grammar of international web addresses when it is
imported: 2 s for a check that no chart asks for, and that jsonschema does without where the module
`rfc3987_syntax` is not to be had. It is to be had again as soon as Altair is imported.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
import altair  # noqa: E402, F401

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]
