"""The published clients, and a judge of pages, fetched once into .cache/."""

from pathlib import Path

from tests.support.npm import CACHE, unpacked

# SHA-256 of each archive.
VERSIONS = {
    "1.6.0": "3968b8b2e90d9bdf0e8eada149057694b41542e38844ea9435be294d135c574d",
    "2.14.1": "56ac23dbef480aa6c5ff9b6d0394d92eaaf6914b6aa0afe32a4767cd77eb7be8",
    "2.15.5": "57830bff5fec1e58a9d4c8f04bef6786ba5ddb05213846e7ccd627f63b0d7c43",
    "3.15.2": "d4194a820adf529b33a64df32dd9656cfa810a499a0c9c04035f3d230f852e78",
}


def bundle(version: str) -> Path:
    """The directory of that version's browser files."""
    package = f"@waline/client@{version}"
    return unpacked(package, VERSIONS[version], CACHE / "clients" / version) / "dist"


AXE = "axe-core@4.10.3"
AXE_SHA256 = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"


def axe() -> str:
    """Deque's axe-core, a script that finds what people with disabilities could not use."""
    home = unpacked(AXE, AXE_SHA256, CACHE / "axe-core-4.10.3")
    return (home / "axe.min.js").read_text()
