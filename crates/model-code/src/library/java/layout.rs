//! Lines of Java: what does not fit goes on eight columns further in, and closing brackets stay with the last line.

/// Lines are broken to be no longer than this, where possible.
const WIDTH: usize = 100;
/// One level of blocks.
const STEP: usize = 4;
/// A statement that goes on.
const FURTHER: usize = 8;
/// Builders with more calls have a line for each.
const BUILDER_CALLS_ON_A_LINE: usize = 2;

/// The last call of a builder.
pub const BUILD: &str = ".build()";

/// An expression, or a statement.
#[derive(Clone, Debug)]
pub enum JavaCode {
    Plain(String),
    /// What is before an expression on its line.
    After(String, Box<JavaCode>),
    /// Arguments, between what opens and what closes them.
    Call(String, Vec<JavaCode>, String),
    /// Calls one behind the other: what they begin with, each call, and what is behind them.
    Chain(String, Vec<JavaCode>, String),
}

pub fn plain(text: impl Into<String>) -> JavaCode {
    JavaCode::Plain(text.into())
}

pub fn call(open: impl Into<String>, arguments: Vec<JavaCode>, close: impl Into<String>) -> JavaCode {
    JavaCode::Call(open.into(), arguments, close.into())
}

pub fn after(text: impl Into<String>, code: JavaCode) -> JavaCode {
    JavaCode::After(text.into(), Box::new(code))
}

/// On lines of its own, inside this many blocks.
pub fn line(code: &JavaCode, depth: usize) -> String {
    let indent = depth * STEP;
    format!("{}{}\n", " ".repeat(indent), code.text(indent, indent, 0))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl JavaCode {
    pub fn inline(&self) -> String {
        let all = |codes: &[JavaCode], between: &str| {
            codes.iter().map(JavaCode::inline).collect::<Vec<_>>().join(between)
        };
        match self {
            JavaCode::Plain(text) => text.clone(),
            JavaCode::After(text, code) => format!("{text}{}", code.inline()),
            JavaCode::Call(open, arguments, close) => format!("{open}{}{close}", all(arguments, ", ")),
            JavaCode::Chain(head, links, close) => format!("{head}{}{close}", all(links, "")),
        }
    }

    fn may_be_one_line(&self) -> bool {
        match self {
            JavaCode::Plain(_) => true,
            JavaCode::After(_, code) => code.may_be_one_line(),
            JavaCode::Call(_, arguments, _) => arguments.iter().all(JavaCode::may_be_one_line),
            JavaCode::Chain(_, links, _) => {
                let builds = matches!(links.last(), Some(JavaCode::Plain(last)) if last == BUILD);
                (!builds || links.len() <= BUILDER_CALLS_ON_A_LINE)
                    && links.iter().all(JavaCode::may_be_one_line)
            }
        }
    }

    /// The text, beginning in this column of a line that is indented this far. Its last line also has room for `behind`.
    fn text(&self, column: usize, indent: usize, behind: usize) -> String {
        let inline = self.inline();
        if self.may_be_one_line() && column + width(&inline) + behind <= WIDTH {
            return inline;
        }
        let further = indent + FURTHER;
        let begin = format!("\n{}", " ".repeat(further));
        match self {
            JavaCode::Plain(text) => text.clone(),
            JavaCode::After(text, code) => {
                format!("{text}{}", code.text(column + width(text), indent, behind))
            }
            JavaCode::Call(_, arguments, _) if arguments.is_empty() => inline,
            // The brackets of a lone argument are broken instead.
            JavaCode::Call(open, arguments, close) if is_lone_call(arguments) => {
                let inner = arguments[0].text(column + width(open), indent, width(close) + behind);
                format!("{open}{inner}{close}")
            }
            JavaCode::Call(open, arguments, close) => {
                let last = arguments.len() - 1;
                let lines = arguments.iter().enumerate().map(|(at, argument)| {
                    let behind = if at == last { width(close) + behind } else { 1 };
                    format!("{begin}{}", argument.text(further, further, behind))
                });
                format!("{open}{}{close}", lines.collect::<Vec<_>>().join(","))
            }
            JavaCode::Chain(head, links, close) => {
                let last = links.len().saturating_sub(1);
                let lines = links.iter().enumerate().map(|(at, link)| {
                    let behind = if at == last { width(close) + behind } else { 0 };
                    format!("{begin}{}", link.text(further, further, behind))
                });
                format!("{head}{}{close}", lines.collect::<String>())
            }
        }
    }
}

fn is_lone_call(arguments: &[JavaCode]) -> bool {
    matches!(arguments, [JavaCode::Call(_, inner, _)] if !inner.is_empty())
        || matches!(arguments, [JavaCode::Chain(..)])
}
