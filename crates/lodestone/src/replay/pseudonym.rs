//! Replaces the values of requests, the same value always by the same pseudonym.
//!
//! A key such as `CUST#ada@x.example` is replaced part by part, as is the attribute `ada@x.example`, so that keys still
//! agree with attributes, conditions with items, and pages with the keys that they begin after. What is kept: words in
//! capitals (`ORDER`, `OPEN`), numbers, dates and times, so that ranges and order stay as they were.

use serde_json::{Map, Value};

const SEPARATORS: [char; 2] = ['#', '|'];
/// 64 bits: no two values of a log get the same pseudonym by chance.
const HEX_DIGITS: usize = 16;
const BASE64: base64::engine::GeneralPurpose = base64::engine::general_purpose::STANDARD;

/// Pseudonyms by a secret key. Without the key nothing can be looked up by trying values.
pub struct Pseudonyms {
    key: [u8; 32],
}

impl Pseudonyms {
    /// By a secret text: the same text gives the same pseudonyms again.
    pub fn of_secret(secret: &str) -> Pseudonyms {
        Pseudonyms { key: blake3::derive_key("lodestone replay pseudonyms", secret.as_bytes()) }
    }

    /// Replaces every value in a request's body.
    pub fn replace(&self, body: &mut Value) {
        match body {
            Value::Object(members) => {
                let is_replaced = self.replace_value(members);
                members.values_mut().filter(|_| !is_replaced).for_each(|member| self.replace(member));
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.replace(element)),
            _ => {}
        }
    }

    /// Whether it is a value of DynamoDB's JSON that has no values inside.
    fn replace_value(&self, members: &mut Map<String, Value>) -> bool {
        if members.len() != 1 {
            return false;
        }
        let Some((tag, value)) = members.iter_mut().next() else { return false };
        match (tag.as_str(), value) {
            ("S", Value::String(text)) => *text = self.text(text),
            ("B", Value::String(text)) => *text = self.bytes(text),
            ("SS" | "BS", Value::Array(all)) => {
                let is_binary = tag == "BS";
                for member in all.iter_mut() {
                    if let Value::String(text) = member {
                        *text = if is_binary { self.bytes(text) } else { self.text(text) };
                    }
                }
            }
            ("N", Value::String(_)) | ("NS", Value::Array(_)) | ("BOOL" | "NULL", Value::Bool(_)) => {}
            _ => return false,
        }
        true
    }

    /// ElectroDB's keys begin with `$`, and have labels: `$shop#customer_ada`.
    fn text(&self, text: &str) -> String {
        if is_kept(text) {
            return text.to_owned();
        }
        let is_labelled = text.starts_with('$');
        let mut replaced = String::with_capacity(text.len());
        for part in text.split_inclusive(SEPARATORS) {
            let plain = part.trim_end_matches(SEPARATORS);
            let separator = &part[plain.len()..];
            match plain.split_once('_').filter(|_| is_labelled) {
                Some((label, value)) if is_label(label) => {
                    replaced.push_str(label);
                    replaced.push('_');
                    replaced.push_str(&self.part(value));
                }
                _ if is_labelled && (plain.starts_with('$') || is_label(plain)) => replaced.push_str(plain),
                _ => replaced.push_str(&self.part(plain)),
            }
            replaced.push_str(separator);
        }
        replaced
    }

    fn part(&self, part: &str) -> String {
        // What follows a prefix up to its highest end is no value.
        let plain = part.trim_end_matches(['\u{FFFF}', '\u{10FFFF}', '~']);
        if is_kept(plain) {
            return part.to_owned();
        }
        // Keys often have a value in lower case that the item has as it was typed.
        let hash = blake3::keyed_hash(&self.key, plain.to_lowercase().as_bytes()).to_hex();
        format!("x{}{}", &hash[..HEX_DIGITS], &part[plain.len()..])
    }

    /// As many bytes as before.
    fn bytes(&self, text: &str) -> String {
        use base64::Engine;
        let Ok(bytes) = BASE64.decode(text) else { return text.to_owned() };
        let mut replaced = vec![0; bytes.len()];
        blake3::Hasher::new_keyed(&self.key).update(&bytes).finalize_xof().fill(&mut replaced);
        BASE64.encode(replaced)
    }
}

/// A word in capitals, a number, a date or a time; or nothing.
fn is_kept(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_uppercase() || matches!(c, '_' | '-');
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | '+' | 'T' | 'Z');
    text.chars().all(is_word) || (text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_time))
}

fn is_label(text: &str) -> bool {
    let plain = text.trim_start_matches('$');
    !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_has_one_pseudonym_in_keys_attributes_and_conditions() {
        let pseudonyms = Pseudonyms::of_secret("a");
        let ada = pseudonyms.text("ada@x.example");
        assert!(ada.starts_with('x') && !ada.contains("ada"), "{ada}");
        let mut body = json!({
            "TableName": "shop",
            "Item": {
                "PK": { "S": "CUST#Ada@x.example" }, "email": { "S": "ada@x.example" }, "total": { "N": "12" },
                "tags": { "SS": ["ada@x.example", "NEW"] }, "deep": { "M": { "S": { "S": "ada@x.example" } } },
                "SK": { "S": "ORDER#2026-01-01T00:00:00Z#ada@x.example" },
            },
            "ConditionExpression": "#e = :e",
            "ExpressionAttributeNames": { "#e": "email" },
            "ExpressionAttributeValues": { ":e": { "S": "ada@x.example" } },
        });
        pseudonyms.replace(&mut body);
        let expected = json!({
            "TableName": "shop",
            "Item": {
                "PK": { "S": format!("CUST#{ada}") }, "email": { "S": ada }, "total": { "N": "12" },
                "tags": { "SS": [ada, "NEW"] }, "deep": { "M": { "S": { "S": ada } } },
                "SK": { "S": format!("ORDER#2026-01-01T00:00:00Z#{ada}") },
            },
            "ConditionExpression": "#e = :e",
            "ExpressionAttributeNames": { "#e": "email" },
            "ExpressionAttributeValues": { ":e": { "S": ada } },
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn prefixes_and_labels_stay_and_the_secret_decides() {
        let (one, other) = (Pseudonyms::of_secret("a"), Pseudonyms::of_secret("b"));
        for kept in ["ORDER#", "ORDER#2026-01", "ORDER#\u{FFFF}", "PROFILE", "42", ""] {
            assert_eq!(one.text(kept), kept);
        }
        assert_eq!(one.text("$shop#customer_ada"), format!("$shop#customer_{}", one.text("ada")));
        assert_ne!(one.text("ada"), other.text("ada"));
    }

    #[test]
    fn bytes_keep_their_number() {
        let replaced = Pseudonyms::of_secret("a").bytes("AQIDBA==");
        assert!(replaced != "AQIDBA==" && replaced.len() == 8, "{replaced}");
    }
}
