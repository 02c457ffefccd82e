//! Lays expressions out as rustfmt does with its own settings.

/// The longest line.
const WIDTH: usize = 100;
/// The widest arguments and chains of calls that stay on one line.
const CALL_WIDTH: usize = 60;
/// The widest members of a struct that stay on one line.
const STRUCT_WIDTH: usize = 18;
const STEP: usize = 4;

/// An expression.
#[derive(Clone, Debug)]
pub enum Code {
    Plain(String),
    /// What is before the arguments, the arguments, and what is behind them.
    Call(String, Vec<Code>, String),
    /// What the methods are called on, and the calls.
    Chain(String, Vec<Code>),
    /// A struct with its members, or the rest of one: `..other`.
    Struct(String, Vec<(String, Code)>),
    /// The elements are one below the other if they are wider than a call's.
    Array(Vec<Code>),
}

pub fn plain(text: impl Into<String>) -> Code {
    Code::Plain(text.into())
}

/// A statement, or a part of one, on lines of its own.
pub fn statement(depth: usize, before: &str, code: &Code, after: &str) -> String {
    let indent = depth * STEP;
    let text = code.text(indent, indent + width(before), width(after));
    format!("{}{before}{text}{after}\n", " ".repeat(indent))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl Code {
    pub fn call(open: impl Into<String>, arguments: Vec<Code>, close: impl Into<String>) -> Code {
        Code::Call(open.into(), arguments, close.into())
    }

    /// On one line, as long as that may be.
    pub fn inline(&self) -> String {
        let joined = |all: &[Code]| all.iter().map(Code::inline).collect::<Vec<_>>().join(", ");
        match self {
            Code::Plain(text) => text.clone(),
            Code::Call(open, arguments, close) => format!("{open}{}{close}", joined(arguments)),
            Code::Chain(root, calls) => {
                root.clone() + &calls.iter().map(Code::inline).collect::<Vec<_>>().concat()
            }
            Code::Struct(name, members) if members.is_empty() => format!("{name} {{}}"),
            Code::Struct(name, members) => format!("{name} {{ {} }}", members_inline(members)),
            Code::Array(elements) => format!("[{}]", joined(elements)),
        }
    }

    /// Whether it may be on one line at all.
    fn is_short(&self) -> bool {
        match self {
            Code::Plain(_) => true,
            Code::Call(_, arguments, _) => all_short(arguments),
            Code::Chain(_, calls) => width(&self.inline()) < CALL_WIDTH && calls.iter().all(Code::is_short),
            Code::Struct(_, members) => width(&members_inline(members)) <= STRUCT_WIDTH,
            Code::Array(elements) => all_short(elements),
        }
    }

    fn text(&self, indent: usize, used: usize, after: usize) -> String {
        let inline = self.inline();
        if self.is_short() && used + width(&inline) + after <= WIDTH {
            return inline;
        }
        self.broken(indent)
    }

    /// On several lines, if there is more than a name.
    fn broken(&self, indent: usize) -> String {
        let inner = indent + STEP;
        let below = |code: &Code, more: &str| {
            format!("\n{}{}{more}", " ".repeat(inner), code.text(inner, inner, width(more)))
        };
        let end = format!("\n{}", " ".repeat(indent));
        match self {
            Code::Plain(text) => text.clone(),
            Code::Call(open, arguments, close) => match arguments.as_slice() {
                [] => self.inline(),
                // The only argument shares its brackets' lines.
                [one @ (Code::Call(..) | Code::Struct(..) | Code::Array(_))] => {
                    let inside = one.broken(indent);
                    format!("{open}{inside}{close}")
                }
                several => {
                    let mut lines: String = several.iter().map(|one| below(one, ",")).collect();
                    if open.ends_with("!(") {
                        lines.pop();
                    }
                    format!("{open}{lines}{end}{close}")
                }
            },
            Code::Chain(root, calls) => {
                let lines: String = calls.iter().map(|one| below(one, "")).collect();
                format!("{root}{lines}")
            }
            Code::Struct(name, members) => {
                let line = |(member, value): &(String, Code)| {
                    let comma = if member == ".." { "" } else { "," };
                    let text = value.text(inner, inner + width(member), width(comma));
                    format!("\n{}{member}{text}{comma}", " ".repeat(inner))
                };
                format!("{name} {{{}{end}}}", members.iter().map(line).collect::<String>())
            }
            Code::Array(elements) => {
                let lines: String = elements.iter().map(|one| below(one, ",")).collect();
                format!("[{lines}{end}]")
            }
        }
    }
}

fn all_short(all: &[Code]) -> bool {
    // A text alone is as long as the line allows.
    if let [Code::Plain(text)] = all
        && text.starts_with('"')
        && text.ends_with('"')
    {
        return true;
    }
    let inline: Vec<String> = all.iter().map(Code::inline).collect();
    width(&inline.join(", ")) <= CALL_WIDTH && all.iter().all(Code::is_short)
}

fn members_inline(members: &[(String, Code)]) -> String {
    let all: Vec<String> = members.iter().map(|(name, value)| format!("{name}{}", value.inline())).collect();
    all.join(", ")
}
