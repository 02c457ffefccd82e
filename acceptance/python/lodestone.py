"""The binary under test: started on a port of its own choice, ready when it prints its endpoint."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

READY_WITHIN_SECONDS = 10
# Sets the clock of a program when it is preloaded; `cargo xtask acceptance` installs it.
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "ACCEPTANCE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


def binary() -> str:
    """The path that `cargo xtask acceptance` hands over."""
    return os.environ["LODESTONE"]


def serve_arguments(data: Path | None, port: int = 0) -> list[str]:
    place = ["--in-memory"] if data is None else ["--data", str(data)]
    return [binary(), "serve", "--host", "127.0.0.1", "--port", str(port), *place]


class Lodestone:
    """A running server. Without a data folder it keeps everything in memory."""

    def __init__(self, data: Path | None = None, *options: str):
        self.data, self.options = data, options
        self.start()

    def start(self):
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [*serve_arguments(self.data), *self.options], stdout=subprocess.PIPE, text=True
        )
        self.ready_line = self.process.stdout.readline().strip()
        self.ready_after_seconds = time.perf_counter() - started
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", self.ready_line)
        assert found, f"no endpoint in the ready line: {self.ready_line!r}"
        self.port = int(found[1])
        self.endpoint = found[0]

    def environment(self) -> dict[str, str]:
        """All that an AWS client needs in order to find this server."""
        return {**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": self.endpoint}

    def resident_bytes(self) -> int:
        return self.memory_bytes("VmRSS")

    def memory_bytes(self, field) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024

    def end(self, how=signal.SIGTERM) -> int:
        self.process.send_signal(how)
        code = self.process.wait(timeout=READY_WITHIN_SECONDS)
        self.process.stdout.close()
        return code

    def restart(self, how=signal.SIGTERM):
        self.end(how)
        self.start()
