"""README for the index of packages; all else about the build is in pyproject.toml."""

import re
import tomllib
from pathlib import Path

from setuptools import setup


def with_addresses(readme: str, repository: str, version: str) -> str:
    """Return the text with links to the repository's pages and pictures of a version.

    The index of packages has neither the pages nor the pictures.
    """
    for mark, view in (("!", "raw"), ("(?<!!)", "blob")):
        link = rf"({mark}\[[^]]*\]\()(?!https?:|#)"
        readme = re.sub(link, rf"\1{repository}/{view}/v{version}/", readme)
    return readme


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    text = Path("README.md").read_text("utf-8")
    if repository := project.get("urls", {}).get("Repository"):
        text = with_addresses(text, repository, project["version"])
    setup(long_description=text, long_description_content_type="text/markdown")
