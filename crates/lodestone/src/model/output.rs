//! How commands speak: colours where a terminal reads them, none elsewhere.

use std::io::Write;

/// To standard output. A reader that went away is no fault.
pub fn print(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}

pub fn print_json(value: &serde_json::Value) {
    print(&format!("{value:#}\n"));
}

/// What is wrong with a file, on standard error: standard output may be somebody's input.
pub fn print_problems(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// To standard error, as every other command of `lodestone` does.
pub fn complain(text: &str) {
    let _ = writeln!(anstream::stderr(), "lodestone: {text}");
}

/// A table as wide as it needs to be, or as the terminal is.
pub fn print_table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    table.set_header(headings);
    table.add_rows(rows);
    print(&format!("{table}\n"));
}
