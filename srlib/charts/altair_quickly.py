"""Import Altair in a third of the time.

Altair imports jsonschema, which builds a grammar of international web addresses on
import. That takes 2 s, for a check that no chart needs. jsonschema omits the check if
the module `rfc3987_syntax` cannot be imported, so it is hidden until Altair is
imported.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
try:
    import altair  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"charts need {error.name}, which is not installed: "
        'pip install "srlib[charts]"',
        name=error.name,
    ) from None

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]
