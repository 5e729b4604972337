"""The README as a package index shows it: links that say where the repository is.

In a checkout its links are relative. An index has no files beside it, so that each becomes the
address of the file, of this version, under [project.urls] Source.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)]+\))")


def linked(text: str, source: str, version: str) -> str:
    """`text` with whole links; pictures are asked for as they are, pages as the host shows them."""

    def whole(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}{source}/{kind}/v{version}/{found[3]}"

    return RELATIVE.sub(whole, text)


class ReadmeHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text()
        text = linked(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
