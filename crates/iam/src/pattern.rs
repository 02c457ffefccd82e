//! Texts of policies: with `*` and `?`, and with variables such as `${aws:username}`.

use std::borrow::Cow;

/// A text that others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    /// `*`: any text, also none.
    Any,
    /// `?`: one character.
    One,
    Variable {
        /// The condition key, in lower case.
        key: String,
        default: Option<String>,
    },
}

/// Which characters of a text mean more than themselves.
#[derive(Clone, Copy, Debug)]
pub struct Syntax {
    pub wildcards: bool,
    pub variables: bool,
}

/// What a variable stands for in this request.
pub type Resolve<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Pattern {
    /// `None` if a variable is not closed or has no name.
    pub fn parse(text: &str, syntax: Syntax) -> Option<Pattern> {
        let mut pattern = Pattern { parts: Vec::new() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (part, behind) = match first {
                '$' if syntax.variables && rest.starts_with("${") => {
                    let (inside, behind) = rest[2..].split_once('}')?;
                    (variable(inside)?, behind)
                }
                '*' if syntax.wildcards => (Part::Any, &rest[1..]),
                '?' if syntax.wildcards => (Part::One, &rest[1..]),
                _ => (Part::Text(first.to_string()), &rest[first.len_utf8()..]),
            };
            pattern.push(part);
            rest = behind;
        }
        Some(pattern)
    }

    fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (Some(Part::Any), Part::Any) => {}
            (_, part) => self.parts.push(part),
        }
    }

    /// The keys of the variables that have no default.
    pub fn required_keys(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { key, default: None } => Some(key.as_str()),
            _ => None,
        })
    }

    /// Divides the pattern at its first `count - 1` colons that are not inside a variable. An ARN with fewer fields
    /// than `count` gets `*` for those that are missing, as IAM completes it.
    pub fn fields(self, count: usize) -> Vec<Pattern> {
        let mut fields = vec![Pattern { parts: Vec::new() }];
        for part in self.parts {
            let Part::Text(text) = part else {
                last(&mut fields).push(part);
                continue;
            };
            let room = count - fields.len();
            for (index, piece) in text.splitn(room + 1, ':').enumerate() {
                if index > 0 {
                    fields.push(Pattern { parts: Vec::new() });
                }
                if !piece.is_empty() {
                    last(&mut fields).push(Part::Text(piece.to_owned()));
                }
            }
        }
        fields.resize(count, Pattern { parts: vec![Part::Any] });
        fields
    }

    /// Whether the whole text fits. A variable that stands for nothing fits no text.
    pub fn matches(&self, text: &str, resolve: &Resolve<'_>) -> bool {
        match self.parts.as_slice() {
            [Part::Any] => return true,
            [Part::Text(only)] => return only == text,
            _ => {}
        }
        let mut tokens = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            tokens.push(match part {
                Part::Text(text) => Token::Text(Cow::Borrowed(text.as_str())),
                Part::Any => Token::Any,
                Part::One => Token::One,
                Part::Variable { key, default } => match resolve(key).or_else(|| default.clone()) {
                    Some(value) => Token::Text(Cow::Owned(value)),
                    None => return false,
                },
            });
        }
        fits(&tokens, text)
    }

    /// Like [`Pattern::matches`], regardless of case.
    pub fn matches_any_case(&self, text: &str, resolve: &Resolve<'_>) -> bool {
        let folded = |key: &str| resolve(key).map(|value| value.to_lowercase());
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Part::Text(text.to_lowercase()),
            Part::Variable { key, default } => Part::Variable {
                key: key.clone(),
                default: default.as_ref().map(|default| default.to_lowercase()),
            },
            other => other.clone(),
        });
        Pattern { parts: parts.collect() }.matches(&text.to_lowercase(), &folded)
    }
}

fn last(fields: &mut [Pattern]) -> &mut Pattern {
    fields.last_mut().expect("there is always a first field")
}

/// The inside of `${…}`: `aws:username`, `aws:username, 'nobody'`, or one of `*`, `?` and `$`, which stand for
/// themselves.
fn variable(inside: &str) -> Option<Part> {
    if matches!(inside, "*" | "?" | "$") {
        return Some(Part::Text(inside.to_owned()));
    }
    let (key, default) = match inside.split_once(',') {
        Some((key, default)) => {
            let default = default.trim().strip_prefix('\'')?.strip_suffix('\'')?;
            (key, Some(default.to_owned()))
        }
        None => (inside, None),
    };
    let key = key.trim().to_lowercase();
    (!key.is_empty()).then_some(Part::Variable { key, default })
}

#[derive(Debug)]
enum Token<'a> {
    Text(Cow<'a, str>),
    Any,
    One,
}

/// Goes from left to right. After a mismatch it goes on at the last `*`, which takes one more character; earlier ones
/// need not change, so the time is at most the product of both lengths.
fn fits(tokens: &[Token<'_>], text: &str) -> bool {
    let (mut token, mut rest) = (0, text);
    // The `*` to go back to, and the text behind what it has taken.
    let mut retry: Option<(usize, &str)> = None;
    loop {
        let step = match tokens.get(token) {
            None if rest.is_empty() => return true,
            None => None,
            Some(Token::Any) if token + 1 == tokens.len() => return true,
            Some(Token::Any) => {
                retry = Some((token, rest));
                Some(rest)
            }
            Some(Token::One) => rest.chars().next().map(|first| &rest[first.len_utf8()..]),
            Some(Token::Text(expected)) => rest.strip_prefix(&**expected),
        };
        match (step, retry) {
            (Some(behind), _) => {
                token += 1;
                rest = behind;
            }
            (None, Some((any, taken))) => {
                let Some(first) = taken.chars().next() else { return false };
                rest = &taken[first.len_utf8()..];
                retry = Some((any, rest));
                token = any + 1;
            }
            (None, None) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Syntax = Syntax { wildcards: true, variables: true };

    fn name(key: &str) -> Option<String> {
        (key == "aws:username").then(|| "al*ce".to_owned())
    }

    #[test]
    fn wildcards_match_any_text_and_one_character() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let parsed = Pattern::parse(pattern, ALL).expect("the pattern is well formed");
            assert_eq!(parsed.matches(text, &name), expected, "{pattern} on {text}");
        };
        check("*", "", true);
        check("", "", true);
        check("", "a", false);
        check("a*c", "abbc", true);
        check("a*c", "abcb", false);
        check("a*b*c", "aXbYbc", true);
        check("*ab", "aab", true);
        check("?", "é", true);
        check("?", "", false);
        check("a?c*", "abc", true);
        check("*a?b*", "xaaybz", true);
        check("a**b", "ab", true);
    }

    #[test]
    fn a_variables_value_stands_for_itself() {
        let check = |pattern: &str, text: &str, expected: bool| {
            let parsed = Pattern::parse(pattern, ALL).expect("the pattern is well formed");
            assert_eq!(parsed.matches(text, &name), expected, "{pattern} on {text}");
        };
        check("home/${aws:username}/*", "home/al*ce/x", true);
        check("home/${AWS:UserName}", "home/alice", false);
        check("${aws:PrincipalTag/team, 'none'}", "none", true);
        check("${aws:PrincipalTag/team}", "", false);
        check("${*}${?}${$}", "*?$", true);
        check("${*}", "a", false);
    }

    #[test]
    fn a_variable_must_be_closed_and_named() {
        for text in ["${", "${}", "${ }", "a${b", "${a, b}", "${a, 'b}"] {
            assert_eq!(Pattern::parse(text, ALL), None, "{text}");
        }
        let literal = Syntax { wildcards: false, variables: false };
        assert!(Pattern::parse("${", literal).is_some_and(|pattern| pattern.matches("${", &name)));
    }

    #[test]
    fn fields_are_divided_at_colons_outside_variables() {
        let fields = |text: &str| Pattern::parse(text, ALL).expect("the pattern is well formed").fields(6);
        let arn = fields("arn:aws:dynamodb:*:1:table/${aws:username}:x");
        assert!(arn[3].matches("eu-west-1", &name) && arn[5].matches("table/al*ce:x", &name));
        let short = fields("arn:aws:dynamodb");
        assert_eq!(short.len(), 6);
        assert!(short[3].matches("eu-west-1", &name) && short[5].matches("table/t", &name));
    }
}
