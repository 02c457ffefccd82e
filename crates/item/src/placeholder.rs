//! The placeholders of expressions: `#name` for an attribute name, `:value` for a value.
//!
//! The syntax is defined here because requests are checked for it (`api`) before an expression is read (`expression`),
//! and neither of these crates knows the other.

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `#name`: a key of ExpressionAttributeNames.
    Name,
    /// `:value`: a key of ExpressionAttributeValues.
    Value,
}

impl Placeholder {
    /// The character that every placeholder of this kind begins with.
    pub const fn sign(self) -> char {
        match self {
            Placeholder::Name => '#',
            Placeholder::Value => ':',
        }
    }

    /// The placeholder with the given word behind its sign.
    pub fn of(self, word: impl std::fmt::Display) -> String {
        format!("{}{word}", self.sign())
    }

    /// The word behind the sign, if `text` begins with this sign.
    pub fn word(self, text: &str) -> Option<&str> {
        text.strip_prefix(self.sign())
    }

    /// Whether the whole `text` is a placeholder of this kind.
    pub fn matches(self, text: &str) -> bool {
        self.length(text) == Some(text.len())
    }

    /// The length in bytes of the placeholder that `text` begins with, its sign included.
    pub fn length(self, text: &str) -> Option<usize> {
        let length = word_length(self.word(text)?);
        (length > 0).then_some(1 + length)
    }
}

/// How many bytes `text` begins with that may stand in a word: letters, digits and underscores.
pub fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}
