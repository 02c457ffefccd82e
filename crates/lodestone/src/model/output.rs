//! How commands speak: colours where a terminal reads them, none elsewhere.

use std::io::Write;

/// To standard output. A reader that went away is no fault.
pub fn print(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}

pub fn print_json(value: &serde_json::Value) {
    print(&format!("{value:#}\n"));
}

/// To standard error, as every other command of `lodestone` does.
pub fn complain(text: &str) {
    let _ = writeln!(anstream::stderr(), "lodestone: {text}");
}
