"""A test that never ends, for tests/test_ending.py: pytest finds it by its path alone."""

import os
import signal
from pathlib import Path

from .serving import serving


def test_a_service_that_serves_until_the_run_is_stopped(own: Path) -> None:
    with serving(own) as served:
        told = Path(os.environ["TOLD"])
        (told / "new").write_text(f"{served.url}\n{own}")
        (told / "new").rename(told / "told")
        signal.pause()
