//! What the services do and their facts do not say: the order of reports, and how patterns are matched.

/// Members that DynamoDB reports first when several break a constraint; the rest follow by name.
pub const REPORTED_FIRST: &[(&str, &[&str])] = &[
    ("CreateTableInput", &["ProvisionedThroughput", "KeySchema", "AttributeDefinitions"]),
    ("ProvisionedThroughput", &["WriteCapacityUnits", "ReadCapacityUnits"]),
    ("PutItemInput", WRITE_MEMBERS),
    ("DeleteItemInput", WRITE_MEMBERS),
    (
        "UpdateItemInput",
        &[
            "TableName",
            "ReturnValues",
            "ReturnValuesOnConditionCheckFailure",
            "ReturnItemCollectionMetrics",
            "ReturnConsumedCapacity",
        ],
    ),
    ("QueryInput", &["Limit", "TableName"]),
    ("ScanInput", &["Limit", "Segment", "TotalSegments", "TableName", "ReturnConsumedCapacity"]),
];
const WRITE_MEMBERS: &[&str] = &[
    "TableName",
    "ReturnConsumedCapacity",
    "ReturnValues",
    "ReturnItemCollectionMetrics",
    "ReturnValuesOnConditionCheckFailure",
];

/// Enumerations whose messages list the values in another order than the facts do.
pub const LISTED_AS: &[(&str, &[&str])] =
    &[("Select", &["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"])];

/// The matcher in `api::pattern` for each regular expression of the facts.
pub const PATTERNS: &[(&str, &str)] = &[
    ("[a-zA-Z0-9_.-]+", "NAME"),
    ("\\p{Print}+", "PRINTABLE"),
    ("[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*", "XML_TEXT"),
    ("([0-9a-f]{16})+", "HEXADECIMAL_TOKEN"),
    ("^[^\\$]+$", "WITHOUT_DOLLAR"),
    ("[A-Za-z0-9][A-Za-z0-9\\-\\_\\.]{0,126}[A-Za-z0-9]", "INSIGHTS_RULE"),
    ("[,;:|\\t ]", "CSV_DELIMITER"),
    ("[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*", "CSV_HEADER"),
    ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    ("^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$", "S3_BUCKET"),
    ("[0-9]{12}", "ACCOUNT"),
    ("[^:].*", "WITHOUT_COLON_FIRST"),
    ("[\\x00-\\x7F]+", "ASCII"),
    ("[\\x20-\\x7E]+", "PRINTABLE_ASCII"),
    ("^arn:.+:application-autoscaling:.+:[0-9]+:scalable-target\\/[a-zA-Z0-9-]+$", "SCALABLE_TARGET_ARN"),
    (
        "(?!((^[ ]+.*)|(.*([\\u0000-\\u001f]|[\\u007f-\\u009f]|[:/|])+.*)|(.*[ ]+$))).+",
        "SCHEDULED_ACTION_NAME",
    ),
];
