"""A function as people write it for Lambda, run as a command: the event comes in on standard input.

It appends a line for each record to the file that the environment names, and fails for an item that asks for it.
"""

import json
import os
import sys

from aws_lambda_powertools.utilities.data_classes import DynamoDBStreamEvent, event_source
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecordEventName

SHOWN = {
    DynamoDBRecordEventName.INSERT: "created",
    DynamoDBRecordEventName.MODIFY: "changed",
    DynamoDBRecordEventName.REMOVE: "deleted",
}


@event_source(data_class=DynamoDBStreamEvent)
def handler(event: DynamoDBStreamEvent, _context):
    failures = []
    with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
        for record in event.records:
            change = record.dynamodb
            image = change.new_image or change.old_image
            if image.get("poison"):
                failures.append({"itemIdentifier": change.sequence_number})
                break
            line = {"event": SHOWN[record.event_name], "pk": change.keys["pk"], "total": str(image.get("total"))}
            seen.write(json.dumps(line) + "\n")
    return {"batchItemFailures": failures}


if __name__ == "__main__":
    json.dump(handler(json.load(sys.stdin), None), sys.stdout)
