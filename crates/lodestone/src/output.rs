//! Output of commands: colours on a terminal, none elsewhere.

use std::io::{self, Write};

use comfy_table::{LineStyle, TableStyle};

/// Prints to standard output. A closed pipe is not an error.
pub fn print(text: &str) {
    let _ = try_print(text);
}

/// Prints to standard output at once, for commands that end when nobody reads it any more.
pub fn try_print(text: &str) -> io::Result<()> {
    let mut output = anstream::stdout();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Prints a line to standard error that is no problem.
pub fn print_note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
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
    let _ = writeln!(anstream::stderr(), "lodestone: {text}");
}

/// One line below the headings: rules between rows would double the length of a table.
const TABLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints a table as wide as necessary, or as the terminal is; cells are wrapped between words.
pub fn print_table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = comfy_table::Table::new();
    table.load_style(TABLE);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    table.set_header(headings);
    table.add_rows(rows);
    print(&format!("{table}\n"));
}
