//! The segments of a key: the texts between its separators.

use std::collections::BTreeSet;

/// Separators of the parts of keys wherever they are met.
const USUAL: [char; 2] = ['#', '|'];
/// Also met inside of values: a separator only if several keys begin with a word in front of it.
const UNUSUAL: [char; 3] = [':', '/', '~'];

/// The separators of a table.
#[derive(Clone, Debug)]
pub struct Separators(Vec<char>);

impl Separators {
    /// Decided by all texts of keys.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Separators {
        let usual: Vec<char> =
            USUAL.into_iter().filter(|usual| texts.clone().any(|text| text.contains(*usual))).collect();
        if !usual.is_empty() {
            return Separators(usual);
        }
        let begins = |text: &str, separator: char| {
            text.split_once(separator).is_some_and(|(word, rest)| is_word(word) && !rest.starts_with('/'))
        };
        let different = |separator: &char| {
            let texts: BTreeSet<&str> = texts.clone().filter(|text| begins(text, *separator)).collect();
            texts.len()
        };
        Separators(UNUSUAL.into_iter().find(|separator| different(separator) > 1).into_iter().collect())
    }

    /// Where the segment ends that begins at `from`. A time is not divided, although it may have colons.
    pub fn end(&self, text: &str, from: usize) -> usize {
        let skipped = from + time_length(&text[from..]);
        text[skipped..].find(|c| self.0.contains(&c)).map_or(text.len(), |at| skipped + at)
    }

    pub fn is_at(&self, text: &str, at: usize) -> bool {
        text[at..].starts_with(|c| self.0.contains(&c))
    }

    pub fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut segments = Vec::new();
        let mut from = 0;
        loop {
            let end = self.end(text, from);
            segments.push(&text[from..end]);
            if end == text.len() {
                return segments;
            }
            // Every separator is one byte long.
            from = end + 1;
        }
    }
}

/// Letters, with `_` and `-` between them.
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
}

pub fn is_shouted(text: &str) -> bool {
    !text.chars().any(char::is_lowercase)
}

/// Begins like `2026-06-23`.
pub fn is_time(text: &str) -> bool {
    fits(text, "dddd-dd")
}

/// Goes on like `T14:05`.
pub fn has_clock(text: &str) -> bool {
    text.len() >= 16 && text.get(10..11) == Some("T") && text.get(13..14) == Some(":")
}

/// Whether a text begins as a pattern says, in which `d` is a digit.
fn fits(text: &str, pattern: &str) -> bool {
    let fits = |(c, wanted): (u8, u8)| if wanted == b'd' { c.is_ascii_digit() } else { c == wanted };
    text.len() >= pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

/// How long the time is that a text begins with; 0 if it begins with none.
fn time_length(text: &str) -> usize {
    let forms = ["dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd", "dddd-dd-ddTdd:dd"];
    let Some(form) = forms.into_iter().find(|form| fits(text, form)) else { return 0 };
    let fraction = text[form.len()..].bytes().take_while(|c| *c == b'.' || c.is_ascii_digit()).count();
    let length = form.len() + fraction;
    let zone = ["+dd:dd", "-dd:dd"].into_iter().find(|zone| fits(&text[length..], zone));
    length + zone.map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_divide_words_from_values_and_no_times() {
        let texts = ["loan:2026-01-01T10:00:00.5+01:00:978", "book:978"];
        let separators = Separators::of(texts.into_iter());
        assert_eq!(separators.split(texts[0]), ["loan", "2026-01-01T10:00:00.5+01:00", "978"]);
        assert_eq!(Separators::of(["https://a/b", "https://c/d"].into_iter()).split("a:b/c"), ["a:b/c"]);
    }
}
