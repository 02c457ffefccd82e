//! The regular expressions of the facts, each as the text that messages show and as a function.

/// What a constrained string must look like.
pub(crate) struct Pattern {
    /// The regular expression.
    pub text: &'static str,
    pub matches: fn(&str) -> bool,
}

/// Names of tables and indexes.
pub(crate) const NAME: Pattern = Pattern { text: "[a-zA-Z0-9_.-]+", matches: is_name };

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Client tokens.
pub(crate) const WITHOUT_DOLLAR: Pattern =
    Pattern { text: "^[^\\$]+$", matches: |text| !text.is_empty() && !text.contains('$') };

/// The character between the columns of a CSV file.
pub(crate) const CSV_DELIMITER: Pattern =
    Pattern { text: "[,;:|\\t ]", matches: |text| matches!(text, "," | ";" | ":" | "|" | "\t" | " ") };

/// Names of columns: printable characters without quotation marks and commas.
pub(crate) const CSV_HEADER: Pattern = Pattern {
    text: "[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*",
    matches: |text| text.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x2b | 0x2d..=0x7e)),
};

/// Tokens of lists that go on.
pub(crate) const HEXADECIMAL_TOKEN: Pattern = Pattern {
    text: "([0-9a-f]{16})+",
    matches: |text| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        !text.is_empty() && text.len().is_multiple_of(16) && text.bytes().all(is_digit)
    },
};

/// Names of buckets.
pub(crate) const S3_BUCKET: Pattern = Pattern {
    text: "^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$",
    matches: |text| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = text.as_bytes();
        bytes.len() >= 2
            && is_end(bytes.first())
            && is_end(bytes.last())
            && bytes.iter().copied().all(is_inner)
    },
};

/// Numbers of accounts.
pub(crate) const ACCOUNT: Pattern = Pattern {
    text: "[0-9]{12}",
    matches: |text| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()),
};

/// Names of namespaces in CloudWatch.
pub(crate) const WITHOUT_COLON_FIRST: Pattern =
    Pattern { text: "[^:].*", matches: |text| !text.is_empty() && !text.starts_with(':') };

/// ASCII without control characters.
pub(crate) const PRINTABLE_ASCII: Pattern = Pattern {
    text: "[\\x20-\\x7E]+",
    matches: |text| !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)),
};

/// Characters that show.
pub(crate) const PRINTABLE: Pattern =
    Pattern { text: "\\p{Print}+", matches: |text| !text.is_empty() && !text.contains(char::is_control) };

/// What XML can hold.
pub(crate) const XML_TEXT: Pattern = Pattern {
    text: "[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*",
    matches: |text| {
        text.chars().all(|letter| matches!(letter, '\r' | '\n' | '\t' | ' '..='\u{fffd}' | '\u{10000}'..))
    },
};

/// ARNs of scalable targets.
pub(crate) const SCALABLE_TARGET_ARN: Pattern = Pattern {
    text: "^arn:.+:application-autoscaling:.+:[0-9]+:scalable-target\\/[a-zA-Z0-9-]+$",
    matches: |text| {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let [arn, partition, service, region, account, resource] = parts[..] else { return false };
        let id = resource.strip_prefix("scalable-target/").unwrap_or_default();
        arn == "arn"
            && service == "application-autoscaling"
            && !partition.is_empty()
            && !region.is_empty()
            && !account.is_empty()
            && account.bytes().all(|byte| byte.is_ascii_digit())
            && !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    },
};

/// Names of scheduled actions: no spaces at the ends, no control characters and none of `: / |`.
pub(crate) const SCHEDULED_ACTION_NAME: Pattern = Pattern {
    text: "(?!((^[ ]+.*)|(.*([\\u0000-\\u001f]|[\\u007f-\\u009f]|[:/|])+.*)|(.*[ ]+$))).+",
    matches: |text| {
        let is_allowed = |letter: char| !letter.is_control() && !matches!(letter, ':' | '/' | '|');
        !text.is_empty() && text.trim_matches(' ') == text && text.chars().all(is_allowed)
    },
};
