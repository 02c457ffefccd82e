"""`lodestone serve --guard`: the page's example, code that the workbench writes, and reports."""

import json
import os
import re
import subprocess
import sys
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from conftest import connect
from lodestone import Lodestone, binary
from test_model_code import MODELS, load, model, sent_examples

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guard.md"
RULES = {
    "test_customer_by_email": "scan",
    "test_open_orders": "wasteful-filter",
    "test_orders_by_key": "repeated-request",
    "test_orders_of_january": "unknown-pattern",
}


@pytest.fixture
def project(tmp_path):
    """A folder with the files of the page; each begins with its name."""
    for _, name, text in re.findall(r"```(yaml|python)\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.yaml", "shop.py", "test_shop.py"]
    return tmp_path


def run_tests(project, *options):
    """Runs pytest there with the fixtures of the package."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "packages" / "python" / "src"),
        "LODESTONE_BINARY": binary(),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "lodestone_db.pytest_plugin", "-rA", *options]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


def call(server, **body):
    request = urllib.request.Request(f"{server.endpoint}/lodestone/guard", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def test_the_tests_of_the_page_fail_by_the_rules_that_it_names(project):
    run = run_tests(project, "--lodestone-guard", "model.yaml", "--lodestone-guard-report", "guard.xml")
    assert run.returncode == 1, run.stdout
    assert "PASSED test_shop.py::test_newest_orders" in run.stdout
    for test in RULES:
        assert f"FAILED test_shop.py::{test}" in run.stdout, run.stdout
    suite = ElementTree.parse(project / "guard.xml").getroot().find("testsuite")
    failures = {case.get("name").split("::")[-1]: case.find("failure") for case in suite.iter("testcase")}
    found = {name: failure.get("type") for name, failure in failures.items() if failure is not None}
    assert found == RULES


def test_without_a_model_and_in_report_mode_the_tests_of_the_page_pass(project):
    assert run_tests(project).returncode == 0
    options = ["--lodestone-guard=model.yaml", "--lodestone-guard-mode=report", "--lodestone-guard-report=guard.sarif"]
    run = run_tests(project, *options)
    assert run.returncode == 0, run.stdout
    assert "## Lodestone guard" in run.stdout and "| wasteful-filter |" in run.stdout
    results = json.loads((project / "guard.sarif").read_text())["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == set(RULES.values())
    lines = (project / "model.yaml").read_text().splitlines()
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "model.yaml"
        assert lines[place["region"]["startLine"] - 1].strip(), place


@pytest.mark.parametrize("path", sorted(MODELS.glob("m*.yaml")), ids=lambda path: path.stem[:3])
def test_code_of_the_workbench_passes_the_guard_of_its_model(monkeypatch, path):
    server = Lodestone(None, "--guard", str(path), "--guard-in-a-row", "0")
    try:
        client = connect(server, boto3.client)
        tables = json.loads(model("export", path, "--to", "create-table"))
        for table in tables if isinstance(tables, list) else [tables]:
            client.create_table(**table)
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        module = {}
        exec(compile(model("code", path, "--language", "boto3"), f"{path.stem}.py", "exec"), module)
        for example in sent_examples(path):
            call(server, pause=True)
            load(client, path)
            call(server, pause=False)
            module[example["function"]]()
        report = json.loads(call(server, report="json"))
        assert [test["findings"] for test in report["tests"]] == [[]] and report["requests"] > 0
    finally:
        server.end()


def test_an_item_that_breaks_the_model_is_not_written(project):
    server = Lodestone(None, "--guard", str(project / "model.yaml"))
    try:
        client = connect(server, boto3.client)
        call(server, pause=True)
        client.create_table(
            TableName="shop",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        )
        call(server, pause=False)
        item = {
            "PK": {"S": "CUST#1"},
            "SK": {"S": "ORDER#2026-01-01#o1"},
            "createdAt": {"S": "2026-01-02"},
            "orderId": {"S": "o1"},
            "status": {"S": "OPEN"},
            "total": {"N": "1"},
        }
        with pytest.raises(ClientError) as refused:
            client.put_item(TableName="shop", Item=item, ConditionExpression="attribute_not_exists(PK)")
        assert refused.value.response["Error"]["Code"] == "ValidationException"
        assert "its attributes give ORDER#2026-01-02#o1" in str(refused.value)
        call(server, pause=True)
        assert client.scan(TableName="shop")["Count"] == 0
    finally:
        server.end()


def test_flags_that_can_not_be_meant_say_what_to_do(project):
    def serve(*options):
        command = [binary(), "serve", "--in-memory", "--port", "0", *options]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)

    assert "can't read the model nowhere.yaml" in serve("--guard", "nowhere.yaml").stderr
    assert "shop.py is no model" in serve("--guard", "shop.py").stderr
    assert "two models of --guard have a table shop" in serve("--guard=model.yaml", "--guard=model.yaml").stderr
    assert "its ending says the format" in serve("--guard=model.yaml", "--guard-report=guard.txt").stderr
    assert "--guard" in serve("--guard-mode=report").stderr
