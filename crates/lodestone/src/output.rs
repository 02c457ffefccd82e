//! Output of commands: colours on a terminal, none elsewhere.

use std::borrow::Cow;
use std::io::{self, Write};

use comfy_table::{LineStyle, TableStyle};
use model::{Diagnostic, Source, diagnostic};

/// Prints to standard output. A closed pipe is not an error.
pub fn print(text: &str) {
    let _ = try_print(text);
}

/// Prints sentences and lists: lines that are wider than the terminal are broken between words.
pub fn print_text(text: &str) {
    print(&fitted(text));
}

fn fitted(text: &str) -> Cow<'_, str> {
    width().map_or(Cow::Borrowed(text), |width| Cow::Owned(fit(text, width)))
}

/// Findings in a file, with the lines that they are about.
pub fn findings(source: &Source, diagnostics: &[Diagnostic]) -> String {
    match width() {
        Some(width) => diagnostic::text_within(source, diagnostics, true, width),
        None => diagnostic::text(source, diagnostics, true),
    }
}

/// How wide the terminal is, or as COLUMNS says; `None` for a file or a pipe, which takes any line.
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let shown = || comfy_table::Table::new().width().map(usize::from);
    said.or_else(shown).map(|width: usize| width.max(WIDTH_MIN))
}

/// Narrower output is of no use.
const WIDTH_MIN: usize = 20;

/// The text with no line wider than this. What is broken goes on a little further in than it began.
fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if shown_width(line) <= width {
            fitted.push_str(line);
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let further = (indent + 2).min(width / 2);
        let mut column = indent.min(width / 2);
        fitted.push_str(&" ".repeat(column));
        let mut is_first = true;
        for word in line.split_whitespace() {
            let space = usize::from(!is_first);
            if !is_first && column + space + shown_width(word) > width {
                fitted.push('\n');
                fitted.push_str(&" ".repeat(further));
                column = further;
            } else if !is_first {
                fitted.push(' ');
                column += 1;
            }
            is_first = false;
            // A word without end (a key, an address) is broken where the line ends.
            let mut rest = word;
            while column + shown_width(rest) > width && !rest.contains('\u{1b}') {
                let cut = rest.char_indices().nth(width - column).map_or(rest.len(), |(at, _)| at);
                fitted.push_str(&rest[..cut]);
                fitted.push('\n');
                fitted.push_str(&" ".repeat(further));
                (rest, column) = (&rest[cut..], further);
            }
            fitted.push_str(rest);
            column += shown_width(rest);
        }
        if line.ends_with('\n') {
            fitted.push('\n');
        }
    }
    fitted
}

/// In characters, without colours and the end of the line.
fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text.trim_end_matches('\n')).to_string().chars().count()
}

/// Prints to standard output at once, for commands that end when its reader has closed it.
pub fn try_print(text: &str) -> io::Result<()> {
    let mut output = anstream::stdout();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Prints a line to standard error that is no problem.
pub fn print_note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", fitted(text));
}

/// Prints what a command of the workbench found, with the version of its schema.
pub fn print_result(value: serde_json::Value) {
    print_json(&model::results::versioned(value));
}

pub fn print_json(value: &serde_json::Value) {
    print(&format!("{value:#}\n"));
}

/// Prints an answer of DynamoDB as it is on the wire.
pub fn print_response(response: impl Into<api::Response>) {
    let mut json = Vec::new();
    response.into().write_json(&mut json);
    match serde_json::from_slice(&json) {
        Ok(value) => print_json(&value),
        Err(_) => print(&String::from_utf8_lossy(&json)),
    }
}

/// Prints problems of a file to standard error, because standard output may be piped.
pub fn print_problems(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Prints to standard error, with the prefix of all `lodestone` commands.
pub fn print_error(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", fitted(&format!("lodestone: {text}")));
}

/// One line below the headings: rules between rows would double the length of a table.
const TABLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints a table as wide as necessary, or as the terminal is; cells are wrapped between words.
pub fn print_table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = comfy_table::Table::new();
    table.load_style(TABLE);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    if let Some(width) = width() {
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table.set_header(headings);
    table.add_rows(rows);
    print(&format!("{table}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_go_on_further_in() {
        let text = "  one two three four\nshort\n";
        assert_eq!(fit(text, 12), "  one two\n    three\n    four\nshort\n");
        assert_eq!(fit(text, 80), text);
    }

    #[test]
    fn a_word_that_is_wider_than_the_line_is_broken() {
        assert_eq!(fit("a 0123456789012345678901234\n", 20), "a\n  012345678901234567\n  8901234\n");
    }

    #[test]
    fn colours_take_no_room() {
        let text = "\u{1b}[31mred\u{1b}[0m and green\n";
        assert_eq!(fit(text, 13), text);
    }
}
