//! Nested literals on lines: on one if it fits, else an element a line.

/// Columns of code at most, where it can be broken.
const WIDTH: usize = 100;

#[derive(Clone, Debug)]
pub enum Doc {
    Atom(String),
    /// `name: …`.
    Named(String, Box<Doc>),
    Group {
        open: String,
        items: Vec<Doc>,
        close: String,
        /// Inside of brackets that stand on one line: `{ a: 1 }`.
        space: bool,
        /// Behind the last of several lines.
        comma: bool,
    },
}

impl Doc {
    pub fn named(name: impl Into<String>, doc: Doc) -> Doc {
        Doc::Named(name.into(), Box::new(doc))
    }

    fn inline(&self) -> String {
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

    /// The text, if it begins in this column of a line that is indented so far. `step` is one indentation.
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
                format!("{open}{}{last}\n{}{close}", lines.join(","), " ".repeat(indent))
            }
        }
    }
}
