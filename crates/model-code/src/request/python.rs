//! Python, with boto3's client.

use serde_json::{Map, Value};

use super::document::{Words, literal};
use crate::name::joined;

const WORDS: Words =
    Words { yes: "True", no: "False", nothing: "None", bytes: ("b64decode(", ")"), quoted_keys: true };

pub fn call(operation: &str, members: &Map<String, Value>) -> String {
    let arguments: String =
        members.iter().map(|(name, value)| format!("    {name}={},\n", literal(value, &WORDS, 4))).collect();
    let decode = if arguments.contains("b64decode(") { "from base64 import b64decode\n\n" } else { "" };
    let call = format!("dynamodb.{}(\n{arguments})", joined(operation, '_'));
    format!("{decode}import boto3\n\ndynamodb = boto3.client(\"dynamodb\")\nanswer = {call}\n")
}
