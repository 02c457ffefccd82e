//! Documentation comments.

use std::fmt::Write as _;

/// The longest line.
const WIDTH: usize = 100;

/// A comment, as it is put together.
#[derive(Default)]
pub struct Comment {
    paragraphs: Vec<String>,
    parameters: Vec<(String, String)>,
}

impl Comment {
    /// With this text, unless it is empty.
    pub fn new(text: &str) -> Comment {
        let mut comment = Comment::default();
        comment.paragraph(text);
        comment
    }

    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.paragraphs.push(escaped(text));
        }
    }

    pub fn html(&mut self, text: &str) {
        self.paragraphs.push(text.to_owned());
    }

    /// What a parameter is. The text is HTML.
    pub fn parameter(&mut self, name: &str, text: &str) {
        self.parameters.push((name.to_owned(), text.to_owned()));
    }

    /// The lines, inside this many blocks.
    pub fn text(&self, depth: usize) -> String {
        let indent = " ".repeat(depth * 4);
        let tags = self.parameters.iter().map(|(name, text)| format!("@param {name} {text}"));
        let tags: Vec<String> = tags.collect();
        match (self.paragraphs.as_slice(), tags.as_slice()) {
            ([], []) => return String::new(),
            ([one], []) if indent.len() + one.chars().count() + 7 <= WIDTH => {
                return format!("{indent}/** {one} */\n");
            }
            _ => {}
        }
        let mut lines: Vec<String> = Vec::new();
        for (at, paragraph) in self.paragraphs.iter().enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            let begin = if at > 0 { "<p>" } else { "" };
            lines.push(format!("{begin}{paragraph}"));
        }
        if !lines.is_empty() && !tags.is_empty() {
            lines.push(String::new());
        }
        lines.extend(tags);
        let mut text = format!("{indent}/**\n");
        for line in lines {
            let _ = writeln!(text, "{}", format!("{indent} * {line}").trim_end());
        }
        let _ = writeln!(text, "{indent} */");
        text
    }
}

/// A text as HTML, with nothing that ends a comment or begins a tag.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace("*/", "*&#47;")
        .replace('\\', "&#92;")
        .replace('@', "&#64;")
}

/// `OPEN, HELD or DONE`.
pub fn one_of(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| escaped(value)).collect();
    match values.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => values.concat(),
    }
}
