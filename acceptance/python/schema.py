"""Table definitions in the words of CreateTable, from the names and types of keys."""


def key_elements(*names, hashes=1):
    """The first `hashes` names are partition keys, the rest sort keys."""
    return [
        {"AttributeName": name, "KeyType": "HASH" if number < hashes else "RANGE"}
        for number, name in enumerate(names)
    ]


def attribute_definitions(**types):
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


class Index:
    """A secondary index: `Index("GSI1", GSI1PK="S", GSI1SK="S")`.

    The projection is ALL, KEYS_ONLY or a list of attribute names; the first `hashes` keys are those of the
    partition.
    """

    def __init__(self, name, projection="ALL", local=False, throughput=None, hashes=1, **keys):
        self.name, self.local, self.keys, self.hashes = name, local, keys, hashes
        if isinstance(projection, str):
            self.projection = {"ProjectionType": projection}
        else:
            self.projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection}
        self.throughput = {"ProvisionedThroughput": throughput} if throughput else {}

    def definition(self):
        return {
            "IndexName": self.name,
            "KeySchema": key_elements(*self.keys, hashes=self.hashes),
            "Projection": self.projection,
            **self.throughput,
        }

    def creation(self):
        """The arguments of UpdateTable that add this index to a table."""
        return {
            "AttributeDefinitions": attribute_definitions(**self.keys),
            "GlobalSecondaryIndexUpdates": [{"Create": self.definition()}],
        }


def units(read, write):
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def key_schema(indexes=(), throughput=None, **keys):
    """`key_schema(pk="S", sk="N")`: the first is the partition key, the second the sort key."""
    types = dict(keys)
    for index in indexes:
        types.update(index.keys)
    schema = {"KeySchema": key_elements(*keys), "AttributeDefinitions": attribute_definitions(**types)}
    for member, local in [("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)]:
        definitions = [index.definition() for index in indexes if index.local == local]
        if definitions:
            schema[member] = definitions
    if throughput:
        return schema | {"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
    return schema | {"BillingMode": "PAY_PER_REQUEST"}
