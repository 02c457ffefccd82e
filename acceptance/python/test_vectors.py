"""Vector indexes. The boto3 at hand does not know them, so the requests are JSON that is signed as boto3 signs."""

import json
import signal
import urllib.error
import urllib.request

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lodestone import CREDENTIALS, Lodestone
from wait import until

INDEX = {
    "IndexName": "by-embedding",
    "VectorAttribute": {"AttributeName": "embedding"},
    "Dimensions": 3,
    "DistanceFunction": "COSINE",
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
    "SearchSchema": [
        {"AttributeName": "tenant", "SearchSchemaElementType": "HASH"},
        {"AttributeName": "language", "SearchSchemaElementType": "INLINE_FILTER"},
    ],
}


def call(server, operation, **members):
    """The status and the answer of one request."""
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    body = json.dumps(members).encode()
    request = AWSRequest("POST", server.endpoint, data=body, headers=headers)
    credentials = Credentials(CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"])
    SigV4Auth(credentials, "dynamodb", CREDENTIALS["AWS_DEFAULT_REGION"]).add_auth(request)
    sent = urllib.request.Request(server.endpoint, data=body, headers=dict(request.headers), method="POST")
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ok(server, operation, **members):
    status, answer = call(server, operation, **members)
    assert status == 200, answer
    return answer


def definitions(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def numbers(*vector):
    return [{"N": str(number)} for number in vector]


def put(server, number, tenant="a", language="en"):
    item = {
        "id": {"S": str(number)},
        "tenant": {"S": tenant},
        "language": {"S": language},
        "title": {"S": f"Title {number}"},
        "text": {"S": "not projected"},
        "embedding": {"L": numbers(1, number, 0)},
    }
    ok(server, "PutItem", TableName="Documents", Item=item)


def search(server, *vector, tenant="a", top_k=3, **members):
    answer = ok(
        server,
        "SearchVectors",
        TableName="Documents",
        IndexName="by-embedding",
        SearchVector=numbers(*vector),
        TopK=top_k,
        SearchConditionExpression="tenant = :tenant",
        ExpressionAttributeValues={":tenant": {"S": tenant}},
        **members,
    )
    return [result["Item"]["id"]["S"] for result in answer["SearchResults"]]


def create_table(server, **members):
    key = [{"AttributeName": "id", "KeyType": "HASH"}]
    ok(server, "CreateTable", TableName="Documents", KeySchema=key, BillingMode="PAY_PER_REQUEST", **members)


def test_a_table_is_searched_also_after_the_server_was_killed(tmp_path):
    server = Lodestone(tmp_path / "data")
    try:
        create_table(server, AttributeDefinitions=definitions("id", "tenant", "language"), VectorIndexes=[INDEX])
        for number in range(10):
            put(server, number)
        put(server, 100, tenant="b")
        for _ in range(2):
            assert search(server, 1, 0, 0) == ["0", "1", "2"]
            assert search(server, 0, 1, 0) == ["9", "8", "7"]
            assert search(server, 1, 0, 0, tenant="b") == ["100"]
            server.restart(signal.SIGKILL)
        answer = ok(
            server,
            "SearchVectors",
            TableName="Documents",
            IndexName="by-embedding",
            SearchVector=numbers(2, 0, 0),
            TopK=1,
            SearchConditionExpression="tenant = :tenant AND #language = :language",
            ExpressionAttributeNames={"#language": "language"},
            ExpressionAttributeValues={":tenant": {"S": "a"}, ":language": {"S": "en"}},
            ReturnConsumedCapacity="TOTAL",
        )
        item = {"id": {"S": "0"}, "tenant": {"S": "a"}, "language": {"S": "en"}, "title": {"S": "Title 0"}}
        assert answer["SearchResults"] == [{"Item": item, "Score": 0.0}]
        assert answer["ConsumedCapacity"]["VectorSearchRequestBytes"] >= 1024
    finally:
        server.end()


def test_an_index_is_added_to_a_table_in_use_and_finished_by_the_next_process(tmp_path):
    server = Lodestone(tmp_path / "data")
    try:
        create_table(server, AttributeDefinitions=definitions("id"))
        for number in range(300):
            put(server, number)
        ok(
            server,
            "UpdateTable",
            TableName="Documents",
            AttributeDefinitions=definitions("id", "tenant", "language"),
            VectorIndexUpdates=[{"Create": INDEX}],
        )
        server.restart(signal.SIGKILL)

        def is_active():
            (index,) = ok(server, "DescribeTable", TableName="Documents")["Table"]["VectorIndexes"]
            return index["IndexStatus"] == "ACTIVE" and not index.get("Backfilling")

        until(is_active)
        assert search(server, 0, 1, 0) == ["299", "298", "297"]
        ok(server, "UpdateTable", TableName="Documents", VectorIndexUpdates=[{"Delete": {"IndexName": "by-embedding"}}])

        def is_gone():
            return "VectorIndexes" not in ok(server, "DescribeTable", TableName="Documents")["Table"]

        until(is_gone)
    finally:
        server.end()


def test_what_does_not_suit_the_index_is_refused(tmp_path):
    server = Lodestone(None)
    try:
        create_table(server, AttributeDefinitions=definitions("id", "tenant", "language"), VectorIndexes=[INDEX])
        item = {"id": {"S": "1"}, "embedding": {"L": numbers(1, 2)}}
        status, answer = call(server, "PutItem", TableName="Documents", Item=item)
        assert (status, answer["message"]) == (
            400,
            "One or more parameter values were invalid: Invalid size for parameter embedding, Expected: 3, Actual: 2. "
            "IndexName: by-embedding",
        )
        request = {"TableName": "Documents", "IndexName": "by-embedding", "SearchVector": numbers(1, 2, 3), "TopK": 1}
        status, answer = call(server, "SearchVectors", **request)
        assert (status, answer["message"]) == (
            400,
            "SearchConditionExpression must be provided when SearchSchema has a HASH key",
        )
    finally:
        server.end()
