"""Users in groups: one membership item, read from either side through an index that swaps its keys (B4)."""

import pytest
from model import Model, keys_of, overloaded_index
from schema import Index


def membership(user, group, role="member"):
    return {
        "PK": f"USER#{user}", "SK": f"GROUP#{group}", "GSI1PK": f"GROUP#{group}", "GSI1SK": f"USER#{user}",
        "role": role,
    }


OWNER = membership("u1", "g1", "owner")
SECOND = membership("u1", "g2")
MEMBER = membership("u2", "g1")
USER = {"PK": "USER#u1", "SK": "PROFILE", "name": "Tamar"}


@pytest.fixture
def memberships(new_table, sent):
    table = new_table(indexes=[overloaded_index("GSI1")], PK="S", SK="S")
    return Model(table, sent).load([MEMBER, USER, SECOND, OWNER])


@pytest.fixture
def inverted(new_table, sent):
    """The same relation without copies: the index is keyed on the table's own keys, the other way round."""
    return Model(new_table(indexes=[Index("inverted", SK="S", PK="S")], PK="S", SK="S"), sent)


def test_list_the_groups_of_a_user(memberships):
    found = memberships.query("PK = :user AND begins_with(SK, :group)", user="USER#u1", group="GROUP#")
    assert found == [OWNER, SECOND]


def test_list_the_users_of_a_group(memberships):
    assert memberships.query("GSI1PK = :group", index="GSI1", group="GROUP#g1") == [OWNER, MEMBER]


def test_both_directions_follow_one_write(memberships):
    memberships.table.delete_item(Key={"PK": "USER#u1", "SK": "GROUP#g1"})
    memberships.table.put_item(Item=membership("u3", "g1"))
    found = memberships.query("GSI1PK = :group", index="GSI1", group="GROUP#g1")
    assert keys_of(found, "PK") == ["USER#u2", "USER#u3"]


def test_an_index_on_the_swapped_keys_of_the_table_needs_no_copies(inverted):
    """B4: the sort key of the table is the partition key of the index."""
    edges = [("USER#u1", "GROUP#g1"), ("USER#u1", "GROUP#g2"), ("USER#u2", "GROUP#g1"), ("USER#u1", "PROFILE")]
    inverted.load({"PK": user, "SK": group} for user, group in edges)
    found = inverted.query("SK = :group", index="inverted", group="GROUP#g1")
    assert found == [{"PK": "USER#u1", "SK": "GROUP#g1"}, {"PK": "USER#u2", "SK": "GROUP#g1"}]
    one = inverted.query("SK = :group AND PK = :user", index="inverted", group="GROUP#g1", user="USER#u2")
    assert one == [{"PK": "USER#u2", "SK": "GROUP#g1"}]
