"""PynamoDB: models with their own tables, indexes, versions, batches and transactions."""

import itertools
from datetime import datetime, timedelta, timezone

import pytest
from lodestone import CREDENTIALS
from pynamodb.attributes import (
    BooleanAttribute, JSONAttribute, ListAttribute, MapAttribute, NumberAttribute, TTLAttribute,
    UnicodeAttribute, UnicodeSetAttribute, UTCDateTimeAttribute, VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import DeleteError, DoesNotExist, PutError, TransactWriteError, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, KeysOnlyProjection, LocalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite

names = (f"Pynamo-{number}" for number in itertools.count(1))


class Place(MapAttribute):
    town = UnicodeAttribute()
    floor = NumberAttribute(default=0)


def meta(server):
    """What a model says about its table, as a class of its own for each model."""
    return type("Meta", (), {
        "table_name": next(names),
        "host": server.endpoint,
        "region": CREDENTIALS["AWS_DEFAULT_REGION"],
        "aws_access_key_id": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        "billing_mode": "PAY_PER_REQUEST",
        "max_retry_attempts": 0,
    })


def thread_model(server):
    """Threads of a forum, with an index of each kind."""
    class ByAuthor(GlobalSecondaryIndex):
        class Meta:
            index_name = "by-author"
            projection = AllProjection()

        author = UnicodeAttribute(hash_key=True)
        views = NumberAttribute(range_key=True)

    class ByViews(LocalSecondaryIndex):
        class Meta:
            index_name = "by-views"
            projection = KeysOnlyProjection()

        forum = UnicodeAttribute(hash_key=True)
        views = NumberAttribute(range_key=True)

    class Thread(Model):
        Meta = meta(server)
        forum = UnicodeAttribute(hash_key=True)
        subject = UnicodeAttribute(range_key=True)
        author = UnicodeAttribute(null=True)
        views = NumberAttribute(default=0)
        closed = BooleanAttribute(default=False)
        tags = UnicodeSetAttribute(null=True)
        posted = UTCDateTimeAttribute(null=True)
        place = Place(null=True)
        replies = ListAttribute(null=True)
        extra = JSONAttribute(null=True)
        by_author = ByAuthor()
        by_views = ByViews()

    return Thread


@pytest.fixture
def thread(server):
    model = thread_model(server)
    model.create_table(wait=True)
    yield model
    model.delete_table()


@pytest.fixture
def account(server):
    """A model whose saves are refused when somebody else was faster."""
    class Account(Model):
        Meta = meta(server)
        id = UnicodeAttribute(hash_key=True)
        balance = NumberAttribute()
        version = VersionAttribute()

    Account.create_table(wait=True)
    yield Account
    Account.delete_table()


@pytest.fixture
def connection(server):
    return Connection(
        region=CREDENTIALS["AWS_DEFAULT_REGION"], host=server.endpoint,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def save_all(thread, count, **more):
    with thread.batch_write() as batch:
        for number in range(count):
            batch.save(thread("rust", f"{number:03}", views=number, **more))


def subjects(found):
    return [int(item.subject) for item in found]


def test_a_model_makes_its_table_and_deletes_it(server):
    model = thread_model(server)
    assert not model.exists()
    model.create_table(wait=True)
    assert model.exists()
    described = model.describe_table()
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by-author"]
    assert [index["IndexName"] for index in described["LocalSecondaryIndexes"]] == ["by-views"]
    model.delete_table(wait=True)
    assert not model.exists()


def test_every_attribute_comes_back_as_it_went(thread):
    posted = datetime(2026, 3, 4, 5, 6, 7, 890, tzinfo=timezone.utc)
    saved = thread(
        "rust", "all", author="ada", views=3.5, closed=True, tags={"x", "y"}, posted=posted,
        place=Place(town="Lund", floor=2), replies=["a", 1, None], extra={"deep": [{"n": 1}]},
    )
    saved.save()
    found = thread.get("rust", "all", consistent_read=True)
    for name, value in saved.attribute_values.items():
        assert name == "place" or found.attribute_values[name] == value
    assert found.place.as_dict() == {"town": "Lund", "floor": 2}
    found.delete()
    with pytest.raises(DoesNotExist):
        thread.get("rust", "all")


def test_conditions_hold_or_raise(thread):
    thread("rust", "a", views=1).save(thread.forum.does_not_exist())
    with pytest.raises(PutError) as refused:
        thread("rust", "a", views=2).save(thread.forum.does_not_exist())
    assert refused.value.cause_response_code == "ConditionalCheckFailedException"
    found = thread.get("rust", "a")
    with pytest.raises(DeleteError):
        found.delete((thread.views > 5) | thread.tags.contains("x"))
    found.delete((thread.views == 1) & ~thread.author.exists())
    assert thread.count("rust") == 0


def test_an_update_sets_adds_appends_and_removes(thread):
    item = thread("rust", "a", author="ada", replies=["one"], tags={"x"}, place=Place(town="Lund"))
    item.save()
    item.update(
        actions=[
            thread.views.add(2),
            thread.replies.set(thread.replies.append(["two"])),
            thread.tags.add({"y"}),
            thread.place.town.set("Umeå"),
            thread.closed.set(True),
            thread.author.remove(),
        ],
        condition=thread.views == 0,
    )
    assert (item.views, item.replies, item.tags) == (2, ["one", "two"], {"x", "y"})
    assert (item.place.town, item.closed, item.author) == ("Umeå", True, None)
    with pytest.raises(UpdateError):
        item.update(actions=[thread.views.set(9)], condition=thread.views == 0)
    item.refresh()
    assert item.views == 2


def test_a_query_goes_by_range_filter_order_and_limit(thread):
    save_all(thread, 12, author="ada")
    assert subjects(thread.query("rust", thread.subject < "003")) == [0, 1, 2]
    assert subjects(thread.query("rust", thread.subject.between("004", "006"))) == [4, 5, 6]
    assert subjects(thread.query("rust", thread.subject.startswith("01"))) == [10, 11]
    assert subjects(thread.query("rust", scan_index_forward=False, limit=2)) == [11, 10]
    assert subjects(thread.query("rust", filter_condition=thread.views.is_in(3, 7))) == [3, 7]
    assert thread.count("rust", thread.subject >= "010") == 2


def test_a_query_is_walked_in_pages_and_taken_up_again(thread):
    save_all(thread, 11)
    everything = thread.query("rust", page_size=3)
    assert subjects(everything) == list(range(11))
    assert everything.total_count == 11
    first = thread.query("rust", limit=4)
    assert subjects(first) == [0, 1, 2, 3]
    rest = thread.query("rust", last_evaluated_key=first.last_evaluated_key)
    assert subjects(rest) == list(range(4, 11))


def test_indexes_are_queried_as_the_table_is(thread):
    save_all(thread, 6, author="ada")
    thread("go", "x", author="ada", views=100).save()
    thread("go", "nobody's", views=100).save()
    found = [(item.forum, int(item.views)) for item in thread.by_author.query("ada", thread.views >= 4)]
    assert found == [("rust", 4), ("rust", 5), ("go", 100)]
    busiest = thread.by_views.query("rust", scan_index_forward=False, limit=2, consistent_read=True)
    assert subjects(busiest) == [5, 4]
    assert thread.by_author.count("ada") == 7


def test_batches_go_beyond_the_limit_of_one_request(thread):
    save_all(thread, 130)
    found = thread.batch_get([("rust", f"{number:03}") for number in range(140)])
    assert sorted(subjects(found)) == list(range(130))
    with thread.batch_write() as batch:
        for item in thread.query("rust", thread.subject >= "010"):
            batch.delete(item)
    assert sorted(subjects(thread.scan())) == list(range(10))


def test_a_parallel_scan_finds_everything_once(thread):
    with thread.batch_write() as batch:
        for number in range(40):
            batch.save(thread(f"forum-{number}", f"{number:03}"))
    found = sum((subjects(thread.scan(segment=n, total_segments=4, page_size=5)) for n in range(4)), [])
    assert sorted(found) == list(range(40))
    assert sorted(subjects(thread.scan(thread.subject < "005"))) == [0, 1, 2, 3, 4]


def test_a_version_stops_the_slower_writer(account):
    account("a", balance=10).save()
    one, other = account.get("a"), account.get("a")
    one.balance = 20
    one.save()
    other.balance = 30
    with pytest.raises(PutError) as refused:
        other.save()
    assert refused.value.cause_response_code == "ConditionalCheckFailedException"
    with pytest.raises(DeleteError):
        other.delete()
    found = account.get("a")
    assert (found.balance, found.version) == (20, 2)


def test_a_transaction_is_written_and_read_whole(account, connection):
    with TransactWrite(connection=connection) as transaction:
        transaction.save(account("giver", balance=10))
        transaction.save(account("taker", balance=0))

    def transfer(amount):
        giver, taker = account.get("giver"), account.get("taker")
        with TransactWrite(connection=connection) as transaction:
            transaction.condition_check(account, "closed", condition=account.id.does_not_exist())
            transaction.update(giver, [account.balance.add(-amount)], condition=account.balance >= amount)
            transaction.update(taker, [account.balance.add(amount)])

    transfer(6)
    with pytest.raises(TransactWriteError) as refused:
        transfer(6)
    assert refused.value.cause_response_code == "TransactionCanceledException"
    reasons = refused.value.cancellation_reasons
    assert [reason and reason.code for reason in reasons] == [None, "ConditionalCheckFailed", None]
    with TransactGet(connection=connection) as transaction:
        found = [transaction.get(account, name) for name in ("giver", "taker")]
    assert [future.get().balance for future in found] == [4, 6]


def test_a_model_with_an_expiry_sets_it_on_its_table(server, client):
    class Session(Model):
        Meta = meta(server)
        id = UnicodeAttribute(hash_key=True)
        expires = TTLAttribute(default_for_new=timedelta(hours=1))

    Session.create_table(wait=True)
    expiry = client.describe_time_to_live(TableName=Session.Meta.table_name)["TimeToLiveDescription"]
    assert expiry["AttributeName"] == "expires"
    Session("s").save()
    assert Session.get("s").expires > datetime.now(timezone.utc)
    Session.delete_table()
