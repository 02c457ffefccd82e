"""A server with an access file: who is let in, and what they may do."""

import datetime
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lodestone import CREDENTIALS, FAKETIME, Lodestone, binary
from wait import until

ACCOUNT = "111122223333"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Songs"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
OWN_ITEMS = {
    "Version": "2012-10-17",
    "Statement": {
        "Effect": "Allow",
        "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:BatchGetItem"],
        "Resource": TABLE,
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}},
    },
}


def access(folder, *arguments):
    """Runs `lodestone access` on the file of a folder."""
    command = [binary(), "access", "--file", str(folder / "access.yaml"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def add(folder, user, *policies):
    """Adds a user; the new key."""
    options = [part for policy in policies for part in ("--policy", policy)]
    added = access(folder, "add", user, "--account", ACCOUNT, *options)
    assert added.returncode == 0, added.stderr
    return dict(line.removeprefix("export ").split("=", 1) for line in added.stdout.splitlines() if "export" in line)


class Guarded:
    def __init__(self, folder):
        self.folder = folder
        (folder / "own.json").write_text(json.dumps(OWN_ITEMS))
        self.admin_key = add(folder, "admin", ADMINISTRATOR)
        self.alice_key = add(folder, "alice", "own.json")
        self.server = Lodestone(None, "--access", str(folder / "access.yaml"))

    def client(self, key, service="dynamodb", **changed):
        key = {**key, **changed}
        return boto3.client(
            service,
            endpoint_url=self.server.endpoint,
            region_name="us-east-1",
            aws_access_key_id=key["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=key["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=key.get("AWS_SESSION_TOKEN"),
            config=Config(retries={"total_max_attempts": 1}),
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    running = Guarded(tmp_path_factory.mktemp("access"))
    running.client(running.admin_key).create_table(
        TableName="Songs",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield running
    running.server.end()


def code(call, **arguments):
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    return refused.value.response["Error"]["Code"]


def test_the_right_secret_lets_in_and_a_wrong_one_does_not(guarded):
    assert guarded.client(guarded.admin_key).list_tables()["TableNames"] == ["Songs"]
    wrong = guarded.client(guarded.admin_key, AWS_SECRET_ACCESS_KEY="wrong")
    assert code(wrong.list_tables) == "InvalidSignatureException"
    nobody = guarded.client(guarded.admin_key, AWS_ACCESS_KEY_ID="AKIANOBODY")
    assert code(nobody.list_tables) == "UnrecognizedClientException"


def test_a_policy_with_leading_keys_shows_only_ones_own_items(guarded):
    alice = guarded.client(guarded.alice_key)
    alice.put_item(TableName="Songs", Item={"pk": {"S": "alice"}})
    assert alice.get_item(TableName="Songs", Key={"pk": {"S": "alice"}})["Item"]
    with pytest.raises(ClientError) as refused:
        alice.get_item(TableName="Songs", Key={"pk": {"S": "bob"}})
    error = refused.value.response["Error"]
    assert error["Code"] == "AccessDeniedException"
    assert error["Message"] == (
        f"User: arn:aws:iam::{ACCOUNT}:user/alice is not authorized to perform: dynamodb:GetItem on resource: {TABLE} "
        "because no identity-based policy allows the dynamodb:GetItem action"
    )
    keys = {"Songs": {"Keys": [{"pk": {"S": "alice"}}, {"pk": {"S": "bob"}}]}}
    assert code(alice.batch_get_item, RequestItems=keys) == "AccessDeniedException"
    assert code(alice.scan, TableName="Songs") == "AccessDeniedException"
    assert code(alice.delete_table, TableName="Missing") == "AccessDeniedException"


def signed(guarded, body=b"{}", date=None):
    """A signed ListTables request, as its parts."""
    key = guarded.admin_key
    credentials = botocore.credentials.Credentials(key["AWS_ACCESS_KEY_ID"], key["AWS_SECRET_ACCESS_KEY"])
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}
    request = botocore.awsrequest.AWSRequest("POST", guarded.server.endpoint + "/", headers, body)
    signer = botocore.auth.SigV4Auth(credentials, "dynamodb", "us-east-1")
    if date is None:
        signer.add_auth(request)
    else:
        request.context["timestamp"] = date.strftime("%Y%m%dT%H%M%SZ")
        request.headers["X-Amz-Date"] = request.context["timestamp"]
        text = signer.string_to_sign(request, signer.canonical_request(request))
        signer._inject_signature_to_request(request, signer.signature(text, request))
    return request


def send(request, body=None):
    """The status and the body of the answer."""
    prepared = urllib.request.Request(request.url, request.body if body is None else body, dict(request.headers), method="POST")
    try:
        with urllib.request.urlopen(prepared) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_an_altered_request_is_refused_and_says_what_should_have_been_signed(guarded):
    status, text = send(signed(guarded), body=b'{"Limit": 1}')
    assert status == 400 and "InvalidSignatureException" in text and "The Canonical String" in text
    other = signed(guarded)
    other.headers.replace_header("X-Amz-Target", "DynamoDB_20120810.DescribeLimits")
    assert send(other)[0] == 400


def test_a_request_is_valid_for_fifteen_minutes(guarded):
    now = datetime.datetime.now(datetime.timezone.utc)
    minutes = lambda count: now + datetime.timedelta(minutes=count)
    for offset in (0, -14, 14):
        assert send(signed(guarded, date=minutes(offset)))[0] == 200, offset
    assert "Signature expired" in send(signed(guarded, date=minutes(-16)))[1]
    assert "Signature not yet current" in send(signed(guarded, date=minutes(16)))[1]
    replayed = signed(guarded)
    assert [send(replayed)[0] for _ in range(2)] == [200, 200], "within its time a request may be sent again"


def test_who_am_i(guarded):
    identity = guarded.client(guarded.alice_key, "sts").get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/alice" and identity["Account"] == ACCOUNT
    wrong = guarded.client(guarded.alice_key, "sts", AWS_SECRET_ACCESS_KEY="wrong")
    assert code(wrong.get_caller_identity) == "SignatureDoesNotMatch"


def test_lambda_actions_are_asked_about_too(guarded):
    assert guarded.client(guarded.admin_key, "lambda").list_event_source_mappings()["EventSourceMappings"] == []
    alice = guarded.client(guarded.alice_key, "lambda")
    assert code(alice.list_event_source_mappings) == "AccessDeniedException"


def test_the_cli_is_let_in_with_its_key_alone(guarded):
    def run(key, *arguments):
        environment = {**os.environ, **CREDENTIALS, **key, "AWS_ENDPOINT_URL": guarded.server.endpoint}
        return subprocess.run(["aws", *arguments], env=environment, capture_output=True, text=True)

    listed = run(guarded.admin_key, "dynamodb", "list-tables")
    assert json.loads(listed.stdout)["TableNames"] == ["Songs"], listed.stderr
    refused = run({**guarded.admin_key, "AWS_SECRET_ACCESS_KEY": "wrong"}, "dynamodb", "list-tables")
    assert "InvalidSignatureException" in refused.stderr
    unsigned = run(guarded.admin_key, "dynamodb", "list-tables", "--no-sign-request")
    assert "MissingAuthenticationToken" in unsigned.stderr
    for offset, said in (("-1h", "Signature expired"), ("+1h", "Signature not yet current")):
        skewed = {**guarded.admin_key, "LD_PRELOAD": FAKETIME, "FAKETIME": offset, "AWS_MAX_ATTEMPTS": "1"}
        assert said in run(skewed, "dynamodb", "list-tables").stderr


def test_a_change_of_the_file_counts_at_once_and_a_broken_file_changes_nothing(guarded):
    key = add(guarded.folder, "carol", ADMINISTRATOR)

    def is_let_in():
        try:
            return guarded.client(key).list_tables() is not None
        except ClientError:
            return False

    # Several servers may answer by turns, and each looks at the file by itself.
    until(lambda: all(is_let_in() for _ in range(8)))
    file = guarded.folder / "access.yaml"
    before = file.read_text()
    file.write_text(before + "nonsense: [")
    # The server looks once a second, so it has seen the file by then.
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert is_let_in(), "the last good file counts"
    file.write_text(before)
    assert access(guarded.folder, "remove", "carol", "--account", ACCOUNT).returncode == 0
    until(lambda: not any(is_let_in() for _ in range(8)))


def test_check_says_who_may_do_what_and_why(guarded):
    def check(user, action, resource=TABLE, *options):
        asked = access(guarded.folder, "check", user, action, resource, *options)
        return asked.returncode, asked.stdout.strip()

    assert check("admin", "dynamodb:DeleteTable") == (0, f"yes: statement 1 of the policy {ADMINISTRATOR} allows it")
    own = ("--with", "dynamodb:LeadingKeys=alice")
    assert check("alice", "dynamodb:GetItem", TABLE, *own) == (0, "yes: statement 1 of the policy own.json allows it")
    returned, text = check("alice", "dynamodb:GetItem", TABLE, "--with", "dynamodb:LeadingKeys=bob")
    assert returned == 1 and text.startswith("no: User: arn:aws:iam::111122223333:user/alice is not authorized")


def test_a_file_that_others_can_read_is_refused(guarded, tmp_path):
    add(tmp_path, "alice", ADMINISTRATOR)
    os.chmod(tmp_path / "access.yaml", 0o644)
    started = subprocess.run(
        [binary(), "serve", "--in-memory", "--port", "0", "--access", str(tmp_path / "access.yaml")],
        capture_output=True, text=True, timeout=30,
    )
    assert started.returncode == 1 and "chmod 600" in started.stderr


def test_metrics_alarms_and_scaling_ask_for_permission(guarded):
    alice, admin = guarded.alice_key, guarded.admin_key
    assert code(guarded.client(alice, "cloudwatch").list_metrics) == "AccessDenied"
    assert code(guarded.client(alice, "cloudwatch").delete_alarms, AlarmNames=["none"]) == "AccessDenied"
    assert code(guarded.client(admin, "cloudwatch").delete_alarms, AlarmNames=["none"]) == "ResourceNotFound"
    target = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": "table/Songs",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }
    scaling = guarded.client(alice, "application-autoscaling")
    assert code(scaling.register_scalable_target, MinCapacity=1, MaxCapacity=2, **target) == "AccessDeniedException"
    assert code(scaling.describe_scalable_targets, ServiceNamespace="dynamodb") == "AccessDeniedException"
    scaling = guarded.client(admin, "application-autoscaling")
    assert scaling.describe_scalable_targets(ServiceNamespace="dynamodb")["ScalableTargets"] == []
