"""Files that servers send to an import only in part, too slowly, or from no address at all."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from footfall.transfer import download
from footfall.transfer.download import CannotFetch, fetch

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(answer: bytes, *, is_held: bool = False) -> Iterator[str]:
    """Sends these bytes to one client, and waits for its end if the connection is `is_held`."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)
            if is_held:
                connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 9\r\n\r\nhalf",
        OK + b"Content-Length: 9\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf",
    ],
)
def test_a_part_of_a_file_is_refused(answer: bytes, tmp_path: Path) -> None:
    with server(answer) as address, pytest.raises(CannotFetch, match="only a part of the file"):
        fetch(address, tmp_path / "file")


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 5\r\n\r\nwhole",
        OK + b"\r\nwhole",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nwh\r\n3\r\nole\r\n0\r\n\r\n",
    ],
)
def test_a_whole_file_is_fetched(answer: bytes, tmp_path: Path) -> None:
    with server(answer) as address:
        fetch(address, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_the_time_limit_holds_while_bytes_come_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(download, "SILENT_SECONDS", 5.0)
    answer = OK + b"Content-Length: 9\r\n\r\n1"
    with (
        server(answer, is_held=True) as address,
        pytest.raises(CannotFetch, match="more than 0 seconds"),
    ):
        fetch(address, tmp_path / "file")


@pytest.mark.parametrize("address", ["http://[x", "https://ann:secret@[x", "http://a:secret@℀/"])
def test_what_is_no_address_is_refused_without_its_password(address: str, tmp_path: Path) -> None:
    with pytest.raises(CannotFetch, match="the address is not a URL") as caught:
        fetch(address, tmp_path / "file")
    assert "secret" not in str(caught.value)
