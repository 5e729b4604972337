"""Requests made from /openapi.json, right and wrong ones: no 500, and no answer that it leaves out.

schemathesis makes them, with the same seed each time. With TEST_ALL=1 it goes on for forty seconds.
"""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support import extent
from tests.support.serving import serving

ANN = {"display_name": "Ann", "email": "ann@example.com", "password": "an old garden gate"}
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
# These would end the login by which the others are tried.
ENDING = "token_log_out|session_end"
SHORT = ("--phases", "fuzzing", "--max-examples", "1", "--no-shrink")
LONG = ("--max-time", "40", "--continue-on-failure")


@pytest.mark.rare
@pytest.mark.parametrize("who", ["administrator", "anybody"])
def test_no_request_is_answered_in_a_way_that_is_not_described(own: Path, who: str) -> None:
    with serving(own / "service", COUNTER_RATE="0", NEW_COUNTER_RATE="0") as service:
        httpx.post(f"{service.url}/api/user", json=ANN).raise_for_status()
        token = httpx.post(f"{service.url}/api/token", json=ANN).json()["data"]["token"]
        headers = [f"Origin: {service.url}", "x-footfall-page: 1"]
        if who == "administrator":
            headers += [f"Authorization: Bearer {token}", f"Cookie: footfall={token}"]
        done = subprocess.run(
            [
                *(sys.executable, "-W", "ignore", "-m", "schemathesis.cli"),
                *("run", f"{service.url}/openapi.json", "--url", service.url),
                *("--checks", ",".join(CHECKS), "--exclude-operation-id-regex", ENDING),
                *("--seed", "1", "--no-color", "--generation-database", "none"),
                *(word for header in headers for word in ("-H", header)),
                *(LONG if extent.ALL else SHORT),
            ],
            cwd=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    assert done.returncode == 0, done.stdout
    assert "generated" in done.stdout, done.stdout
