"""Which test the requests of an account belong to, for a server that was started with --guard."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from typing import Any, Iterator

WITHIN_S = 30


class Guard:
    """A test's view of the guard. Without one, every call does nothing and nothing is found."""

    def __init__(self, url: str, account: str, test: str, is_on: bool, fails: bool) -> None:
        self._url, self._account, self._test = url, account, test
        self.is_on, self.fails = is_on, fails

    def begin(self) -> None:
        """From here on, the account's requests are this test's."""
        self._call(begin=self._test)

    def end(self) -> list[dict[str, Any]]:
        """Ends the test, and returns what was found in it."""
        return self._call(end=True).get("findings", [])

    def findings(self) -> list[dict[str, Any]]:
        """What was found since the test began, or since this was last asked. It does not fail the test any more."""
        found = self.end()
        self.begin()
        return found

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Lets everything pass: for the requests with which a test prepares or examines its data."""
        self._call(pause=True)
        try:
            yield
        finally:
            self._call(pause=False)

    def _call(self, **call: Any) -> dict[str, Any]:
        if not self.is_on:
            return {}
        return json.loads(ask(self._url, account=self._account, **call))


def ask(url: str, **call: Any) -> str:
    """Sends a call to the guard of a server."""
    body = json.dumps(call).encode()
    request = urllib.request.Request(f"{url}/lodestone/guard", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
        return answer.read().decode()


def described(findings: list[dict[str, Any]]) -> str:
    """The findings, for the failure of a test."""
    lines = [f"the model does not know what this test asks ({len(findings)} findings)"]
    for one in findings:
        place = one["place"] and f"{one['place']['file']}:{one['place']['line']}: "
        lines.append(f"- {place or ''}[{one['rule']}, {one['times']} times] {one['message']} Do this: {one['help']}.")
    return "\n".join(lines)
