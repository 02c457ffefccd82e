"""A DynamoDB you can run, model and trust: the program, and servers for tests."""

from __future__ import annotations

import os
import queue
import re
import secrets
import subprocess
import sys
import threading
from pathlib import Path
from typing import Sequence

__all__ = ["Server", "binary_path", "main", "new_account"]

READY_WITHIN_S = 30
STOPPED_WITHIN_S = 15


def binary_path() -> str:
    """The program: what LODESTONE_BINARY names, or the one of this package."""
    return os.environ.get("LODESTONE_BINARY") or str(Path(__file__).parent / "bin" / "lodestone")


def main() -> None:
    """The command `lodestone`: this process becomes the program, with its signals and its exit status."""
    os.execv(binary_path(), ["lodestone", *sys.argv[1:]])


def new_account() -> str:
    """An access key of 12 digits: an account of its own, with no tables yet."""
    return "".join(str(secrets.randbelow(10)) for _ in range(12))


class Server:
    """A server on a free port, with its data in memory unless the flags say otherwise.

    It ends with this process at the latest.
    """

    def __init__(self, flags: Sequence[str] = ("--in-memory",)) -> None:
        command = [binary_path(), "serve", "--port", "0", "--end-with-parent", *flags]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.url = self._ready_url()
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def _read(self) -> None:
        """Passes on what the server says until it is ready, and then drops it, so that its pipe is never full."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not hasattr(self, "url"):
                self._lines.put(line)
        self._lines.put(None)

    def _ready_url(self) -> str:
        said = ""
        while True:
            try:
                line = self._lines.get(timeout=READY_WITHIN_S)
            except queue.Empty:
                raise RuntimeError(f"lodestone was not ready within {READY_WITHIN_S} s: {said.strip()}") from None
            if line is None:
                raise RuntimeError(f"lodestone ended with status {self._process.wait()}: {said.strip()}")
            said += line
            ready = re.match(r"lodestone is ready at (\S+) ", line)
            if ready:
                return ready[1]

    def stop(self) -> None:
        """Finishes the requests in flight and ends the server."""
        self._process.terminate()
        try:
            self._process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
