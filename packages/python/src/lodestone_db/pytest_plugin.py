"""Fixtures for pytest: one server in memory for the run, and an account of its own for each test."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

import pytest

from lodestone_db import Server, new_account

REGION = "us-east-1"


@pytest.fixture(scope="session")
def lodestone_flags() -> Sequence[str]:
    """The flags of the server. A project that wants others has a fixture of this name in its conftest.py."""
    return ("--in-memory",)


@pytest.fixture(scope="session")
def lodestone_endpoint(lodestone_flags: Sequence[str]) -> Iterator[str]:
    """The address of a server that runs while the tests run."""
    with Server(lodestone_flags) as server:
        yield server.url


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
def _lodestone_client_options(lodestone_endpoint: str, lodestone_account: str) -> dict[str, str]:
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
    monkeypatch: pytest.MonkeyPatch, lodestone_endpoint: str, lodestone_account: str
) -> None:
    """Points code that makes its own clients to the server and to the test's account."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", lodestone_endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", lodestone_endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", lodestone_account)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
