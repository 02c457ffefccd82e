"""A data model in a table: its items, and the requests that answer its access patterns.

Each answer is one request on the wire, is whole (no further page), and reads no item that it does not
return; a pattern that breaks one of these promises fails where it is asked.
"""

from schema import Index


class Model:
    def __init__(self, table, sent):
        self.table, self.sent = table, sent

    def load(self, items):
        with self.table.batch_writer() as batch:
            for item in items:
                batch.put_item(Item=item)
        return self

    def get(self, **key):
        """The item of a key: one GetItem. `None` when there is none."""
        return self._once("GetItem", self.table.get_item, Key=key).get("Item")

    def query(self, condition, index=None, newest_first=False, select=None, limit=None, **values):
        """The items of a partition in their order: one Query. `:name` in the condition is `name` here."""
        arguments = {
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()},
            "ScanIndexForward": not newest_first,
        }
        for name, value in [("IndexName", index), ("ProjectionExpression", select), ("Limit", limit)]:
            if value is not None:
                arguments[name] = value
        answer = self._once("Query", self.table.query, **arguments)
        assert answer["ScannedCount"] == answer["Count"] == len(answer["Items"])
        assert limit or "LastEvaluatedKey" not in answer
        return answer["Items"]

    def _once(self, operation, call, **arguments):
        before = len(self.sent)
        answer = call(**arguments)
        assert self.sent[before:] == [operation]
        return answer


def overloaded_index(name, projection="ALL"):
    """An index with keys of no meaning of their own, e.g. GSI1PK and GSI1SK."""
    return Index(name, projection, **{f"{name}PK": "S", f"{name}SK": "S"})


def keys_of(items, *names):
    """The values of the named key attributes, in the order of the items."""
    return [tuple(item[name] for name in names) if len(names) > 1 else item[names[0]] for item in items]
