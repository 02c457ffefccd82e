//! Texts of policies: with `*` and `?`, and with variables such as `${aws:username}`.

use std::borrow::Cow;
use std::collections::HashMap;

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

/// Compares a text with tokens in a time that grows with the length of the text and, divided by 64, with the product of
/// both lengths: a policy may have thousands of wildcards, and every request is compared with it.
///
/// What is before the first `*` is at the beginning of the text, and what is behind the last one at its end. Each piece
/// between two of them is found where it first occurs behind the piece before it: a later place leaves less for the rest.
fn fits(tokens: &[Token<'_>], text: &str) -> bool {
    let mut pieces = tokens.split(|token| matches!(token, Token::Any));
    let first = pieces.next().unwrap_or_default();
    let Some(rest) = strip_start(first, text) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    let Some(mut rest) = strip_end(last, rest) else { return false };
    for piece in pieces {
        let Some(behind) = behind_first(piece, rest) else { return false };
        rest = behind;
    }
    true
}

/// The text behind a piece at its beginning.
fn strip_start<'t>(piece: &[Token<'_>], text: &'t str) -> Option<&'t str> {
    piece.iter().try_fold(text, |rest, token| match token {
        Token::Text(expected) => rest.strip_prefix(&**expected),
        _ => rest.chars().next().map(|first| &rest[first.len_utf8()..]),
    })
}

/// The text before a piece at its end.
fn strip_end<'t>(piece: &[Token<'_>], text: &'t str) -> Option<&'t str> {
    piece.iter().rev().try_fold(text, |rest, token| match token {
        Token::Text(expected) => rest.strip_suffix(&**expected),
        _ => rest.chars().next_back().map(|last| &rest[..rest.len() - last.len_utf8()]),
    })
}

/// The text behind the first place where a piece occurs.
fn behind_first<'t>(piece: &[Token<'_>], text: &'t str) -> Option<&'t str> {
    match piece {
        [] => Some(text),
        [Token::Text(only)] => text.find(&**only).map(|at| &text[at + only.len()..]),
        _ => Occurrences::of(piece).first_end(text).map(|end| &text[end..]),
    }
}

/// Finds a piece with the algorithm that is known as Shift-And or Bitap. Bit `n` of the state says that the last `n + 1`
/// characters of the text are the first ones of the piece; each character of the text moves all bits by one.
struct Occurrences {
    /// How many characters the piece has.
    length: usize,
    /// The places of the piece where any character may be.
    any: Vec<u64>,
    /// The places where this character may be, those of `any` among them.
    of_character: HashMap<char, Vec<u64>>,
}

impl Occurrences {
    fn of(piece: &[Token<'_>]) -> Occurrences {
        let mut characters: Vec<Option<char>> = Vec::new();
        for token in piece {
            match token {
                Token::Text(text) => characters.extend(text.chars().map(Some)),
                Token::One | Token::Any => characters.push(None),
            }
        }
        let length = characters.len();
        let at = |places: &mut [u64], place: usize| places[place / 64] |= 1 << (place % 64);
        let mut any = vec![0; length.div_ceil(64)];
        let ones = (0..length).filter(|place| characters[*place].is_none());
        ones.for_each(|place| at(&mut any, place));
        let mut of_character: HashMap<char, Vec<u64>> = HashMap::new();
        for (place, character) in characters.iter().enumerate() {
            if let Some(character) = character {
                at(of_character.entry(*character).or_insert_with(|| any.clone()), place);
            }
        }
        Occurrences { length, any, of_character }
    }

    /// Where in the text the first occurrence ends.
    fn first_end(&self, text: &str) -> Option<usize> {
        let Some(last) = self.length.checked_sub(1) else { return Some(0) };
        let mut state = vec![0_u64; self.any.len()];
        for (at, character) in text.char_indices() {
            let allowed = self.of_character.get(&character).unwrap_or(&self.any);
            // A new occurrence may begin at every character.
            let mut carried = 1;
            for (word, allowed) in state.iter_mut().zip(allowed) {
                let moved = *word << 1 | carried;
                carried = *word >> 63;
                *word = moved & allowed;
            }
            if state[last / 64] >> (last % 64) & 1 == 1 {
                return Some(at + character.len_utf8());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Syntax = Syntax { wildcards: true, variables: true };

    fn name(key: &str) -> Option<String> {
        (key == "aws:username").then(|| "al*ce".to_owned())
    }

    fn fits(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern, ALL).expect("the pattern is well formed").matches(text, &name)
    }

    /// Slow, and obviously right.
    fn fits_by_definition(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|taken| fits_by_definition(rest, &text[taken..])),
            Some((b'?', rest)) => !text.is_empty() && fits_by_definition(rest, &text[1..]),
            Some((first, rest)) => text.first() == Some(first) && fits_by_definition(rest, &text[1..]),
        }
    }

    /// All texts of up to this length.
    fn all_of(alphabet: &str, length_max: usize) -> Vec<String> {
        let mut texts = vec![String::new()];
        for begin in 0.. {
            if texts[begin].len() == length_max {
                break;
            }
            texts.extend(alphabet.chars().map(|last| format!("{}{last}", texts[begin])).collect::<Vec<_>>());
        }
        texts
    }

    #[test]
    fn short_patterns_fit_exactly_what_they_mean() {
        let texts = all_of("ab", 6);
        for pattern in all_of("ab*?", 5) {
            for text in &texts {
                let expected = fits_by_definition(pattern.as_bytes(), text.as_bytes());
                assert_eq!(fits(&pattern, text), expected, "{pattern} on {text}");
            }
        }
    }

    #[test]
    fn thousands_of_wildcards_are_compared_with_long_texts() {
        let all = "a".repeat(50_000);
        assert!(!fits(&format!("*{}b*", "a?".repeat(10_000)), &all));
        assert!(fits(&format!("*{}a*", "a?".repeat(10_000)), &all));
        assert!(fits(&format!("*{}b*", "a?".repeat(10_000)), &(all.clone() + "b")));
        assert!(fits(&format!("*{}", "?".repeat(4_000)), &all));
        assert!(!fits(&format!("*{}", "?".repeat(4_000)), &all[..3_999]));
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
