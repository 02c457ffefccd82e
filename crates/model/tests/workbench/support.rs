//! Marks in model files: `#~ R14` at the end of a line says that R14 finds something there. It may have
//! the level, a part of the message, and the underlined text: `#~ R14 error: not padded ^{rating}`.

use model::{Diagnostic, RuleId, Source};

/// What is expected at one line; empty parts say nothing.
#[derive(Debug)]
pub struct Mark {
    pub rule: RuleId,
    line: usize,
    level: String,
    message: String,
    underlined: String,
}

impl Mark {
    fn parse(line: usize, text: &str) -> Mark {
        let (text, underlined) = text.split_once(" ^").unwrap_or((text, ""));
        let (head, message) = text.split_once(':').unwrap_or((text, ""));
        let (rule, level) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
        let rule = rule.parse().unwrap_or_else(|()| panic!("line {line}: `{rule}` is no rule"));
        let [level, message, underlined] = [level, message, underlined].map(|part| part.trim().to_owned());
        Mark { rule, line, level, message, underlined }
    }

    pub fn fits(&self, source: &Source, found: &Diagnostic) -> bool {
        found.rule == Some(self.rule)
            && self.line == source.position(found.span.start).0
            && (self.level.is_empty() || self.level == found.level.name())
            && found.message.contains(&self.message)
            && (self.underlined.is_empty() || self.underlined == source.slice(found.span))
    }
}

/// All marks of a file, top to bottom.
pub fn marks(source: &Source) -> Vec<Mark> {
    let lines = source.text.lines().enumerate();
    lines
        .flat_map(|(number, line)| {
            line.split("#~").skip(1).map(move |mark| Mark::parse(number + 1, mark.trim()))
        })
        .collect()
}
