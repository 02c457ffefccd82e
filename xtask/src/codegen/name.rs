//! Rust names for the services' names.

const KEYWORDS: &[&str] =
    &["type", "match", "ref", "use", "enum", "struct", "fn", "in", "loop", "move", "self"];

/// `SSESpecification` -> `sse_specification`, `KMSMasterKeyId` -> `kms_master_key_id`.
pub fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let after_lower = index > 0 && !letters[index - 1].is_uppercase();
        let before_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && index > 0 && (after_lower || before_lower) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    if KEYWORDS.contains(&snake.as_str()) { format!("r#{snake}") } else { snake }
}

/// `ALL_OLD` -> `AllOld`, `dynamodb:table:ReadCapacityUnits` -> `DynamodbTableReadCapacityUnits`. A word that
/// already mixes upper and lower case keeps its capitals.
pub fn variant(value: &str) -> String {
    let is_mixed = value.contains(|letter: char| letter.is_lowercase());
    let words = value.split(|letter: char| !letter.is_alphanumeric());
    words
        .flat_map(|word| {
            let rest = word.chars().skip(1);
            let rest: String =
                if is_mixed { rest.collect() } else { rest.flat_map(char::to_lowercase).collect() };
            word.chars().take(1).flat_map(char::to_uppercase).chain(rest.chars().collect::<Vec<_>>())
        })
        .collect()
}

/// The name of the function that reads the shape.
pub fn reader(shape: &str) -> String {
    format!("read_{}", snake(shape).trim_start_matches("r#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_apart() {
        assert_eq!(snake("SSESpecification"), "sse_specification");
        assert_eq!(snake("KMSMasterKeyId"), "kms_master_key_id");
        assert_eq!(snake("SizeEstimateRangeGB"), "size_estimate_range_gb");
        assert_eq!(snake("eventID"), "event_id");
        assert_eq!(snake("Type"), "r#type");
        assert_eq!(variant("PAY_PER_REQUEST"), "PayPerRequest");
        assert_eq!(variant("ConditionalCheckFailed"), "ConditionalCheckFailed");
        assert_eq!(variant("Bytes/Second"), "BytesSecond");
        assert_eq!(variant("custom-resource"), "CustomResource");
        assert_eq!(variant("ecs:service:DesiredCount"), "EcsServiceDesiredCount");
    }
}
