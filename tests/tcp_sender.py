"""A stream of bytes that can be pulled over TCP."""

from __future__ import annotations

import socket
import threading


class Sender:
    """Sends a file over TCP to everyone who connects, as often as it is told to."""

    def __init__(self, content: bytes, times: int) -> None:
        self._content, self._times = content, times
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._listening:
            for _ in range(self._times):
                connection, _ = self._listening.accept()
                with connection:
                    connection.sendall(self._content)

    def join(self) -> None:
        self._thread.join(10)
