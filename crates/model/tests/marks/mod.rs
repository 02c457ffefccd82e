//! Marks in model files: `#~ R14` at the end of a line says that R14 finds something there, and
//! `#~ R14: not padded` that its message has this in it.

use model::{Diagnostic, RuleId, Source};

#[derive(Debug)]
pub struct Mark {
    pub line: usize,
    pub rule: RuleId,
    /// A part of the message; empty if any will do.
    pub part: String,
}

impl Mark {
    pub fn fits(&self, source: &Source, found: &Diagnostic) -> bool {
        let line = source.position(found.span.start).0;
        found.rule == Some(self.rule) && line == self.line && found.message.contains(&self.part)
    }
}

/// All marks of a file, top to bottom.
pub fn marks(source: &Source) -> Vec<Mark> {
    let lines = source.text.lines().enumerate();
    lines
        .flat_map(|(number, line)| line.split("#~").skip(1).map(move |mark| read(number + 1, mark)))
        .collect()
}

fn read(line: usize, mark: &str) -> Mark {
    let (rule, part) = mark.split_once(':').unwrap_or((mark, ""));
    let rule = rule.trim().parse().unwrap_or_else(|()| panic!("line {line}: `{mark}` names no rule"));
    Mark { line, rule, part: part.trim().to_owned() }
}
