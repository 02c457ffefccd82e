//! Values of a TypeScript program, printed on one line if they fit.

/// Lines longer than this are broken where they can be.
const WIDTH: usize = 100;

pub enum Code {
    /// Printed as it is.
    Plain(String),
    Object(Vec<(&'static str, Code)>),
    List(Vec<Code>),
    Call(&'static str, Vec<Code>),
    /// A name without a value: `...props`.
    Nothing,
}

impl Code {
    pub fn plain(code: impl ToString) -> Code {
        Code::Plain(code.to_string())
    }

    /// On one line if it fits after `indent`, else one member per line.
    pub fn printed(&self, indent: usize) -> String {
        let line = self.line();
        // The name before it takes a part of the line, 20 characters at most.
        if indent + line.chars().count() + 20 <= WIDTH {
            return line;
        }
        match self {
            Code::Plain(_) | Code::Nothing => line,
            Code::Object(members) => {
                let member = |(name, value): &(&str, Code)| match value {
                    Code::Nothing => (*name).to_owned(),
                    value => format!("{name}: {}", value.printed(indent + 2)),
                };
                broken("{", members.iter().map(member), "}", indent)
            }
            Code::List(elements) => {
                broken("[", elements.iter().map(|element| element.printed(indent + 2)), "]", indent)
            }
            Code::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|one| one.printed(indent)).collect();
                format!("{function}({})", arguments.join(", "))
            }
        }
    }

    fn line(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match self {
            Code::Plain(code) => code.clone(),
            Code::Nothing => String::new(),
            Code::Object(members) => {
                let member = |(name, value): &(&str, Code)| match value {
                    Code::Nothing => (*name).to_owned(),
                    value => format!("{name}: {}", value.line()),
                };
                format!("{{ {} }}", joined(members.iter().map(member).collect()))
            }
            Code::List(elements) => format!("[{}]", joined(elements.iter().map(Code::line).collect())),
            Code::Call(function, arguments) => {
                format!("{function}({})", joined(arguments.iter().map(Code::line).collect()))
            }
        }
    }
}

fn broken(open: &str, members: impl Iterator<Item = String>, close: &str, indent: usize) -> String {
    let margin = " ".repeat(indent + 2);
    let lines: String = members.map(|member| format!("{margin}{member},\n")).collect();
    format!("{open}\n{lines}{}{close}", " ".repeat(indent))
}

/// In single quotes.
pub fn text(text: &str) -> Code {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    Code::Plain(out)
}
