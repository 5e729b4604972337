"""The published clients, and a checker of pages, fetched once into .cache/."""

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


# Scripts of other counters' clients, by the name under which the blog has them: the package, its
# SHA-256, and the file in it.
NEXT = (
    "hexo-theme-next@8.29.0",
    "ad305613aafcd7e73d06a391908b88ea5ceb59ba81250027e9bd782126ea44c2",
)
FLUID = (
    "hexo-theme-fluid@1.9.9",
    "dd87b9a80765e24a6ca342555cb577bc3c218b4b4871189b4553f7f0f8fb55e9",
)
SCRIPTS = {
    "next-config.js": (*NEXT, "source/js/config.js"),
    "next-counter.js": (*NEXT, "source/js/third-party/statistics/lean-analytics.js"),
    "fluid-leancloud.js": (*FLUID, "source/js/leancloud.js"),
    "fluid-openkounter.js": (*FLUID, "source/js/openkounter.js"),
    "valine-1.3.10.js": (
        "valine@1.3.10",
        "5279dcc59b206368e35cc3371af1cacd7346874a3cb10397d563bf833a685a18",
        "dist/Valine.min.js",
    ),
    "valine-1.5.3.js": (
        "valine@1.5.3",
        "0c00e6e42e5360257e193eb7aeb343688971502e89ce0d7e46ff007ea4114221",
        "dist/Valine.min.js",
    ),
    "leancloud-3.js": (
        "leancloud-storage@3.15.0",
        "522d66fbad139ae57009a7f05b7e9d910ddcaff5df2f62cd5c263973246751b7",
        "dist/av-min.js",
    ),
    "leancloud-4.js": (
        "leancloud-storage@4.15.2",
        "cc08978ed3df704a38ecc50736fd23a6c5c87e5b586d2564bda01d358d70a0d2",
        "dist/av-min.js",
    ),
}


def script(name: str) -> Path:
    """One of SCRIPTS, as it was published."""
    package, sha256, file = SCRIPTS[name]
    return unpacked(package, sha256, CACHE / package) / file


AXE = "axe-core@4.10.3"
AXE_SHA256 = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292"


def axe() -> str:
    """Deque's axe-core, a script that finds what people with disabilities could not use."""
    home = unpacked(AXE, AXE_SHA256, CACHE / "axe-core-4.10.3")
    return (home / "axe.min.js").read_text()


BUSUANZI = "busuanzi.pure.js@1.0.3"
BUSUANZI_SHA256 = "63befbc1e6b7ee3aa46fbecc61138ff19507a92ba0a7b6df754c70d6f7537fdb"
# The service for which it is written.
BUSUANZI_HOST = "//busuanzi.ibruce.info/"


def busuanzi(server: str) -> str:
    """busuanzi's script with another address of the service, as sites have copies of it."""
    home = unpacked(BUSUANZI, BUSUANZI_SHA256, CACHE / "busuanzi.pure.js-1.0.3")
    text = (home / "busuanzi.pure.js").read_text()
    assert text.count(BUSUANZI_HOST) == 1
    return text.replace(BUSUANZI_HOST, f"{server}/")
