"""Encrypted connections, as SDKs make them, and the audit log of what came over them."""

import json
import subprocess
import time

import boto3
import pytest
from botocore.exceptions import SSLError
from conftest import key_schema
from lodestone import CREDENTIALS, Lodestone


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    running = Lodestone(None, "--tls-self-signed", str(folder / "ca.pem"), "--audit", str(folder))
    running.authority = str(folder / "ca.pem")
    running.audit = folder / "audit.jsonl"
    yield running
    running.end()


def client(server, **options):
    return boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        **options,
    )


def test_boto3_trusts_the_authority_and_nobody_else(encrypted):
    assert encrypted.endpoint.startswith("https://")
    trusting = client(encrypted, verify=encrypted.authority)
    trusting.create_table(TableName="Songs", **key_schema(pk="S"))
    trusting.put_item(TableName="Songs", Item={"pk": {"S": "a secret"}})
    found = trusting.get_item(TableName="Songs", Key={"pk": {"S": "a secret"}})
    assert found["Item"] == {"pk": {"S": "a secret"}}
    with pytest.raises(SSLError):
        client(encrypted).list_tables()


def test_the_aws_cli_takes_the_authority_as_a_flag_or_from_the_environment(encrypted):
    for arguments, environment in [
        (["--ca-bundle", encrypted.authority], {}),
        ([], {"AWS_CA_BUNDLE": encrypted.authority}),
    ]:
        done = subprocess.run(
            ["aws", "dynamodb", "list-tables", *arguments],
            env={**encrypted.environment(), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "TableNames" in json.loads(done.stdout)


def test_the_audit_log_names_the_caller_and_the_table_but_not_the_item(encrypted):
    trusting = client(encrypted, verify=encrypted.authority)
    with pytest.raises(trusting.exceptions.ResourceNotFoundException):
        trusting.put_item(TableName="Missing", Item={"pk": {"S": "a secret"}})
    for _ in range(100):
        text = encrypted.audit.read_text()
        if "Missing" in text:
            break
        time.sleep(0.05)
    line = next(entry for entry in map(json.loads, text.splitlines()) if entry["tables"] == ["Missing"])
    assert (line["principal"], line["operation"]) == ("ACCEPTANCE", "PutItem")
    assert (line["outcome"], line["tls"]) == ("ResourceNotFoundException", True)
    assert "a secret" not in text
