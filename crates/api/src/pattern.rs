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
