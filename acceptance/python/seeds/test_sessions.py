"""Sessions and invitations that end by themselves: an attribute holds the second of expiry. Until it is
swept an expired item can still be read, so readers leave it out.
"""

import time

import pytest
from model import Model

HOUR, DAY = 3600, 86_400


@pytest.fixture
def sessions(new_table, client, sent):
    table = new_table(PK="S", SK="S")
    client.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    return Model(table, sent)


def session(number, ends):
    return {"PK": f"SESSION#{number}", "SK": "METADATA", "userId": "USER#u123", "ttl": ends}


def invitation(user, ends):
    return {"PK": "INVITE#team-alpha", "SK": f"USER#{user}", "invitedBy": "USER#u123", "role": "member", "ttl": ends}


def test_the_table_knows_which_attribute_ends_an_item(sessions, client):
    description = client.describe_time_to_live(TableName=sessions.table.name)["TimeToLiveDescription"]
    assert description["AttributeName"] == "ttl"
    assert description["TimeToLiveStatus"] in ("ENABLING", "ENABLED")


def test_get_a_session_that_is_still_valid(sessions):
    wanted = session("abc123", int(time.time()) + HOUR)
    sessions.load([wanted, session("other", int(time.time()) + DAY)])
    assert sessions.get(PK="SESSION#abc123", SK="METADATA") == wanted


def test_list_the_invitations_of_a_team(sessions):
    ends = int(time.time()) + 7 * DAY
    sessions.load([invitation("u9", ends), invitation("u456", ends), session("abc123", ends)])
    found = sessions.query("PK = :team", team="INVITE#team-alpha")
    assert found == [invitation("u456", ends), invitation("u9", ends)]


def test_readers_leave_out_what_has_expired(sessions):
    """The one pattern with a filter: an expired item may or may not have been swept by now."""
    now = int(time.time())
    sessions.load([invitation("gone", now - HOUR), invitation("u456", now + HOUR)])
    answer = sessions.table.query(
        KeyConditionExpression="PK = :team",
        FilterExpression="#ttl > :now",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":team": "INVITE#team-alpha", ":now": now},
    )
    assert answer["Items"] == [invitation("u456", now + HOUR)]
    assert answer["ScannedCount"] in (1, 2)
