//! The JavaScript SDK, version 3.

use serde_json::{Map, Value};

use super::document::{Words, literal};

const WORDS: Words = Words {
    yes: "true",
    no: "false",
    nothing: "null",
    bytes: ("Buffer.from(", ", \"base64\")"),
    quoted_keys: false,
};

pub fn call(operation: &str, members: &Map<String, Value>) -> String {
    let members: String = members
        .iter()
        .map(|(name, value)| format!("        {name}: {},\n", literal(value, &WORDS, 8)))
        .collect();
    format!(
        "import {{ DynamoDBClient, {operation}Command }} from \"@aws-sdk/client-dynamodb\";\n\n\
         const dynamodb = new DynamoDBClient();\n\
         const answer = await dynamodb.send(\n    new {operation}Command({{\n{members}    }}),\n);\n"
    )
}
