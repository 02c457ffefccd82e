//! Prints nested literals: on one line if they fit, else one element per line.

/// Lines are broken to be no longer than this, where possible.
pub const WIDTH: usize = 100;

/// A literal to be laid out: text, a named value, or a bracketed group.
#[derive(Clone, Debug)]
pub enum Doc {
    Atom(String),
    /// `name: …`.
    Named(String, Box<Doc>),
    Group {
        open: String,
        items: Vec<Doc>,
        close: String,
        /// Whether brackets on one line have spaces inside: `{ a: 1 }`.
        space: bool,
        /// Whether the last of several lines ends in a comma.
        comma: bool,
    },
}

impl Doc {
    pub fn named(name: impl Into<String>, doc: Doc) -> Doc {
        Doc::Named(name.into(), Box::new(doc))
    }

    /// The text on one line.
    pub fn inline(&self) -> String {
        match self {
            Doc::Atom(text) => text.clone(),
            Doc::Named(name, doc) => format!("{name}{}", doc.inline()),
            Doc::Group { open, items, close, space, .. } => {
                let space = if *space && !items.is_empty() { " " } else { "" };
                let items: Vec<String> = items.iter().map(Doc::inline).collect();
                format!("{open}{space}{}{space}{close}", items.join(", "))
            }
        }
    }

    /// The text, beginning in this column of a line that is indented this far. `step` is one level of indentation.
    pub fn text(&self, column: usize, indent: usize, step: usize) -> String {
        let inline = self.inline();
        if column + inline.chars().count() < WIDTH {
            return inline;
        }
        match self {
            Doc::Atom(text) => text.clone(),
            Doc::Named(name, doc) => {
                format!("{name}{}", doc.text(column + name.chars().count(), indent, step))
            }
            Doc::Group { items, .. } if items.is_empty() => inline,
            Doc::Group { open, items, close, comma, .. } => {
                let inner = indent + step;
                let lines: Vec<String> = items
                    .iter()
                    .map(|item| format!("\n{}{}", " ".repeat(inner), item.text(inner, inner, step)))
                    .collect();
                let last = if *comma { "," } else { "" };
                format!("{open}{}{last}\n{}{}", lines.join(","), " ".repeat(indent), close.trim_start())
            }
        }
    }
}
