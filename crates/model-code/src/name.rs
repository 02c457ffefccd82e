//! Names of functions and variables, the same in every language.

use model::Model;

/// Reserved words of Python and JavaScript, and names that the generated modules use themselves.
#[rustfmt::skip]
const TAKEN: [&str; 75] = [
    "and", "answer", "arguments", "as", "assert", "async", "await", "boto3", "break", "case", "catch", "class",
    "const", "continue", "debugger", "def", "default", "del", "delete", "do", "documents", "dynamodb", "elif",
    "else", "enum", "eval", "except", "export", "extends", "false", "finally", "for", "from", "function",
    "global", "if", "implements", "import", "in", "instanceof", "interface", "is", "lambda", "let", "list",
    "match", "new", "nonlocal", "not", "null", "or", "order", "package", "pass", "private", "protected",
    "public", "raise", "range", "return", "static", "super", "switch", "table", "this", "throw", "true", "try",
    "type", "typeof", "var", "void", "while", "with", "yield",
];

/// A function's name for each pattern of the model.
pub fn functions(model: &Model) -> Vec<String> {
    distinct(model.patterns.iter().map(|pattern| identifier(&pattern.id.value)))
}

/// A variable's name for each table of the model.
pub fn tables(model: &Model) -> Vec<String> {
    match model.tables.as_slice() {
        [_] => vec!["table".to_owned()],
        tables => distinct(tables.iter().map(|table| format!("{}_table", identifier(&table.name.value)))),
    }
}

/// Makes names distinct from each other and from reserved words.
fn distinct(wanted: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for mut name in wanted {
        while names.contains(&name) || TAKEN.contains(&name.as_str()) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// Lower-case letters, digits and `_`.
fn identifier(text: &str) -> String {
    let plain = |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '_' };
    let name: String = text.chars().map(plain).collect();
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) { name } else { format!("pattern_{name}") }
}

/// `KeyConditionExpression` -> `key_condition_expression`, or with another joint between the words.
pub fn joined(name: &str, joint: char) -> String {
    let mut joined = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            joined.push(joint);
        }
        joined.push(letter.to_ascii_lowercase());
    }
    joined
}
