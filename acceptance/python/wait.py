"""Waiting for what the server does by itself, with a bound."""

import time

DONE_WITHIN_SECONDS = 30


def until(look, within_seconds=DONE_WITHIN_SECONDS):
    """The first true answer of `look`."""
    end = time.monotonic() + within_seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"not done within {within_seconds} seconds"
        time.sleep(0.05)


def next_second():
    """Waits for the clock's next second and returns it: AWS clients send times as whole seconds."""
    second = int(time.time()) + 1
    until(lambda: time.time() >= second)
    return second
