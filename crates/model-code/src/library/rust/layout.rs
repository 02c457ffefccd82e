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
pub enum RustCode {
    Plain(String),
    /// What is before the arguments, the arguments, and what is behind them.
    Call(String, Vec<RustCode>, String),
    /// What the methods are called on, and the calls.
    Chain(String, Vec<RustCode>),
    /// A struct with its members, or the rest of one: `..other`.
    Struct(String, Vec<(String, RustCode)>),
    /// The elements are one below the other if they are wider than a call's.
    Array(Vec<RustCode>),
}

pub fn plain(text: impl Into<String>) -> RustCode {
    RustCode::Plain(text.into())
}

/// A statement, or a part of one, on lines of its own.
pub fn statement(depth: usize, before: &str, code: &RustCode, after: &str) -> String {
    let indent = depth * STEP;
    let text = code.text(indent, indent + width(before), width(after));
    format!("{}{before}{text}{after}\n", " ".repeat(indent))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl RustCode {
    pub fn call(open: impl Into<String>, arguments: Vec<RustCode>, close: impl Into<String>) -> RustCode {
        RustCode::Call(open.into(), arguments, close.into())
    }

    /// On one line, as long as that may be.
    pub fn inline(&self) -> String {
        let joined = |all: &[RustCode]| all.iter().map(RustCode::inline).collect::<Vec<_>>().join(", ");
        match self {
            RustCode::Plain(text) => text.clone(),
            RustCode::Call(open, arguments, close) => format!("{open}{}{close}", joined(arguments)),
            RustCode::Chain(root, calls) => {
                root.clone() + &calls.iter().map(RustCode::inline).collect::<Vec<_>>().concat()
            }
            RustCode::Struct(name, members) if members.is_empty() => format!("{name} {{}}"),
            RustCode::Struct(name, members) => format!("{name} {{ {} }}", members_inline(members)),
            RustCode::Array(elements) => format!("[{}]", joined(elements)),
        }
    }

    /// Whether it may be on one line at all.
    fn is_short(&self) -> bool {
        match self {
            RustCode::Plain(_) => true,
            RustCode::Call(_, arguments, _) => all_short(arguments),
            RustCode::Chain(_, calls) => {
                width(&self.inline()) < CALL_WIDTH && calls.iter().all(RustCode::is_short)
            }
            RustCode::Struct(_, members) => width(&members_inline(members)) <= STRUCT_WIDTH,
            RustCode::Array(elements) => all_short(elements),
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
        let below = |code: &RustCode, more: &str| {
            format!("\n{}{}{more}", " ".repeat(inner), code.text(inner, inner, width(more)))
        };
        let end = format!("\n{}", " ".repeat(indent));
        match self {
            RustCode::Plain(text) => text.clone(),
            RustCode::Call(open, arguments, close) => match arguments.as_slice() {
                [] => self.inline(),
                // The only argument shares its brackets' lines.
                [one @ (RustCode::Call(..) | RustCode::Struct(..) | RustCode::Array(_))] => {
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
            RustCode::Chain(root, calls) => {
                let lines: String = calls.iter().map(|one| below(one, "")).collect();
                format!("{root}{lines}")
            }
            RustCode::Struct(name, members) => {
                let line = |(member, value): &(String, RustCode)| {
                    let comma = if member == ".." { "" } else { "," };
                    let text = value.text(inner, inner + width(member), width(comma));
                    format!("\n{}{member}{text}{comma}", " ".repeat(inner))
                };
                format!("{name} {{{}{end}}}", members.iter().map(line).collect::<String>())
            }
            RustCode::Array(elements) => {
                let lines: String = elements.iter().map(|one| below(one, ",")).collect();
                format!("[{lines}{end}]")
            }
        }
    }
}

fn all_short(all: &[RustCode]) -> bool {
    // A text alone is as long as the line allows.
    if let [RustCode::Plain(text)] = all
        && text.starts_with('"')
        && text.ends_with('"')
    {
        return true;
    }
    let inline: Vec<String> = all.iter().map(RustCode::inline).collect();
    width(&inline.join(", ")) <= CALL_WIDTH && all.iter().all(RustCode::is_short)
}

fn members_inline(members: &[(String, RustCode)]) -> String {
    let all: Vec<String> = members.iter().map(|(name, value)| format!("{name}{}", value.inline())).collect();
    all.join(", ")
}
