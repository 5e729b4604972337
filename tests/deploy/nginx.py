"""nginx with a configuration of deploy/, with a port to listen on and a service behind it."""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.support.requirements import program
from tests.support.servers import free_port, wait_until

from .files import DEPLOY, documents

# nginx has the paths of its build compiled in, unless it is told others.
AROUND = """\
daemon off; pid nginx.pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxied;
    fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    include {file};
}}
"""


def proxy_conf() -> str:
    return (DEPLOY / "nginx.conf").read_text()


def sidecar_conf() -> str:
    (found,) = (
        document["data"]["default.conf"]
        for document in documents((DEPLOY / "kubernetes" / "sidecar.yaml").read_text())
        if document["kind"] == "ConfigMap"
    )
    return str(found)


@contextlib.contextmanager
def nginx(text: str, upstream: str, home: Path, *before: str) -> Iterator[str]:
    """Its address; the words before the command say as which user it runs."""
    home.chmod(0o755)
    port = free_port()
    text = re.sub(r"listen (80|8080);", f"listen 127.0.0.1:{port};", text)
    text = text.replace("listen [::]:80;", "")
    text, number = re.subn(r"^( *server) \S+;", rf"\1 {upstream};", text, flags=re.MULTILINE)
    assert number == 1
    (home / "site.conf").write_text(text)
    (home / "nginx.conf").write_text(AROUND.format(file=home / "site.conf"))
    command = [*before, program("nginx"), "-p", str(home), "-c", str(home / "nginx.conf")]
    subprocess.run([*command, "-t", "-q"], check=True)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: answers(port), "nginx to answer")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def answers(port: int) -> bool:
    with contextlib.suppress(httpx.ConnectError):
        return bool(httpx.get(f"http://127.0.0.1:{port}/"))
    return False
