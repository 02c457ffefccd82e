"""Fixtures for pytest: one server in memory for the run, and an account of its own for each test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator, Sequence

import pytest

from lodestone_db import Server, new_account
from lodestone_db.guard import Guard, ask, described

REGION = "us-east-1"
REPORT = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lodestone")
    group.addoption(
        "--lodestone-guard",
        action="append",
        default=[],
        metavar="MODEL",
        help="refuse requests that this model does not know, and fail their tests; several times for several models",
    )
    group.addoption(
        "--lodestone-guard-mode",
        choices=("fail", "report"),
        default="fail",
        help="whether such requests and their tests fail, or are served and reported",
    )
    group.addoption(
        "--lodestone-guard-report",
        action="append",
        default=[],
        metavar="FILE",
        help="write what was found: JUnit (.xml), SARIF (.sarif), Markdown (.md) or JSON (.json)",
    )


def guard_flags(config: pytest.Config) -> list[str]:
    """The flags of the server for the options of pytest."""
    models = config.getoption("lodestone_guard")
    if not models:
        return []
    reports = (own_report(name) for name in config.getoption("lodestone_guard_report"))
    flags = [f"--guard-mode={config.getoption('lodestone_guard_mode')}"]
    return flags + [f"--guard={model}" for model in models] + [f"--guard-report={name}" for name in reports]


def own_report(name: str) -> str:
    """Each worker of pytest-xdist has a server, and so a report, of its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    path = Path(name)
    return str(path.with_name(f"{path.stem}-{worker}{path.suffix}")) if worker else name


@pytest.fixture(scope="session")
def lodestone_flags() -> Sequence[str]:
    """The flags of the server. A project that wants others has a fixture of this name in its conftest.py."""
    return ("--in-memory",)


@pytest.fixture(scope="session")
def lodestone_endpoint(pytestconfig: pytest.Config, lodestone_flags: Sequence[str]) -> Iterator[str]:
    """The address of a server that runs while the tests run."""
    flags = guard_flags(pytestconfig)
    with Server([*lodestone_flags, *flags]) as server:
        yield server.url
        if flags:
            pytestconfig.stash[REPORT] = ask(server.url, report="markdown")


@pytest.fixture
def lodestone_guard(
    request: pytest.FixtureRequest, lodestone_endpoint: str, lodestone_account: str
) -> Iterator[Guard]:
    """The guard of --lodestone-guard: `with lodestone_guard.paused():` around requests that prepare or examine data."""
    options = request.config.option
    fails = options.lodestone_guard_mode == "fail"
    is_on = bool(options.lodestone_guard)
    guard = Guard(lodestone_endpoint, lodestone_account, request.node.nodeid, is_on, fails)
    guard.begin()
    yield guard
    guard.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test fails for what was found in it, also if the application caught the error."""
    outcome = yield
    guard = getattr(item, "funcargs", {}).get("lodestone_guard")
    if isinstance(guard, Guard) and guard.fails and outcome.excinfo is None:
        found = guard.findings()
        if found:
            outcome.force_exception(pytest.fail.Exception(described(found), pytrace=False))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report = config.stash.get(REPORT, "")
    if report:
        terminalreporter.write_line("")
        terminalreporter.write(report)


@pytest.fixture(scope="session")
def _lodestone_session() -> Any:
    # Loading the service's description takes longer than most tests, and a session does it once.
    boto3 = pytest.importorskip("boto3", reason="the fixtures dynamodb and dynamodb_resource need boto3")
    return boto3.session.Session()


@pytest.fixture
def lodestone_account() -> str:
    """An access key that is an account of its own: the test begins without tables."""
    return new_account()


@pytest.fixture
def _lodestone_client_options(
    lodestone_endpoint: str, lodestone_account: str, lodestone_guard: Guard
) -> dict[str, str]:
    return {
        "endpoint_url": lodestone_endpoint,
        "region_name": REGION,
        "aws_access_key_id": lodestone_account,
        "aws_secret_access_key": "local",
    }


@pytest.fixture
def dynamodb(_lodestone_session: Any, _lodestone_client_options: dict[str, str]) -> Any:
    """A client of boto3 for an account of the test's own."""
    return _lodestone_session.client("dynamodb", **_lodestone_client_options)


@pytest.fixture
def dynamodb_resource(_lodestone_session: Any, _lodestone_client_options: dict[str, str]) -> Any:
    """A resource of boto3 for the same account."""
    return _lodestone_session.resource("dynamodb", **_lodestone_client_options)


@pytest.fixture
def lodestone_environment(
    monkeypatch: pytest.MonkeyPatch, lodestone_endpoint: str, lodestone_account: str, lodestone_guard: Guard
) -> None:
    """Points code that makes its own clients to the server and to the test's account."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", lodestone_endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", lodestone_endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", lodestone_account)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
