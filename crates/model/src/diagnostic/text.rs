//! Findings as a compiler prints them: the line, the text underlined, the reason, and what to do.

use annotate_snippets::{AnnotationKind, Element, Group, Level as Severity, Origin, Renderer, Snippet};

use super::wrap::wrap;
use super::{Diagnostic, Level};
use crate::{Lines, Source, Span};

/// What the line numbers and the dots of a shortened line take, at most.
const FRAME_WIDTH: usize = 20;
/// Places that are this far apart are shown together, with dots for the lines between them.
const NEAR_BYTES: usize = 16 << 10;
/// More text than this is not shown around a finding: it has a line too long to read.
const WINDOW_BYTES_MAX: usize = 64 << 10;

/// The findings one below the other, with colours if `styled`, and a line that counts them.
pub fn text(source: &Source, diagnostics: &[Diagnostic], styled: bool) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    rendered(source, diagnostics, &renderer, usize::MAX)
}

/// The same with no line wider than this: lines of the file are cut, everything else is wrapped by words.
pub fn text_within(source: &Source, diagnostics: &[Diagnostic], styled: bool, width: usize) -> String {
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    let span_width_max = width.saturating_sub(FRAME_WIDTH).max(1);
    wrap(&rendered(source, diagnostics, &renderer.term_width(width), span_width_max), width)
}

fn rendered(
    source: &Source,
    diagnostics: &[Diagnostic],
    renderer: &Renderer,
    span_width_max: usize,
) -> String {
    let view = View { source, lines: source.lines(), span_width_max };
    let mut out = String::new();
    for diagnostic in diagnostics.iter().filter(|one| one.allowed.is_none()) {
        out.push_str(&renderer.render(&[view.group(diagnostic)]).to_string());
        out.push_str("\n\n");
    }
    out.push_str(&summary(source, diagnostics));
    out.push('\n');
    out
}

/// A part of the text that is underlined, and what is said about it.
type Marked<'a> = (AnnotationKind, Span, &'a str);

/// The text as findings are shown in it. Of the text, the renderer gets only the lines around a finding: it looks at all
/// that it gets, for each finding again.
struct View<'a> {
    source: &'a Source,
    lines: Lines<'a>,
    span_width_max: usize,
}

impl<'a> View<'a> {
    fn group(&self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let mut title = severity(diagnostic.level).primary_title(diagnostic.message.as_str());
        if let Some(rule) = diagnostic.rule {
            title = title.id(rule.to_string());
        }
        let why = diagnostic.why.iter().map(|why| Element::from(Severity::NOTE.message(why.as_str())));
        let help = diagnostic.help.iter().map(|help| Element::from(Severity::HELP.message(help.as_str())));
        Group::with_title(title).elements(self.places(diagnostic)).elements(why).elements(help)
    }

    /// The finding with the places near it, then each of the others.
    fn places(&self, diagnostic: &'a Diagnostic) -> Vec<Element<'a>> {
        let primary = shown(self.source, diagnostic.span, self.span_width_max);
        let related = diagnostic.related.iter().map(|(span, note)| {
            (AnnotationKind::Context, shown(self.source, *span, self.span_width_max), note.as_str())
        });
        let is_near = |(_, span, _): &Marked<'_>| {
            let both = primary.to(*span);
            both.end - both.start <= NEAR_BYTES
        };
        let (near, far): (Vec<Marked<'_>>, Vec<Marked<'_>>) = related.partition(is_near);
        let mut together = vec![(AnnotationKind::Primary, primary, diagnostic.label.as_str())];
        together.extend(near);
        let apart = far.into_iter().map(|marked| self.place(vec![marked]));
        std::iter::once(self.place(together)).chain(apart).collect()
    }

    /// The lines of some places, or only where the first of them is if its line is too long to be looked at.
    fn place(&self, marked: Vec<Marked<'a>>) -> Element<'a> {
        let all = marked.iter().map(|(_, span, _)| *span).reduce(Span::to).unwrap_or_default();
        let window = self.lines.around(all);
        let first = marked.first().map_or(0, |(_, span, _)| span.start);
        let path = self.source.path.as_str();
        if window.end - window.start > WINDOW_BYTES_MAX {
            let (line, column) = self.lines.position(first);
            return Origin::path(path).line(line).char_column(column).into();
        }
        let annotations = marked.into_iter().map(|(kind, span, label)| {
            let range = span.start - window.start..span.end - window.start;
            kind.span(range).label((!label.is_empty()).then_some(label))
        });
        Snippet::source(self.source.slice(window))
            .line_start(self.lines.position(window.start).0)
            .path(path)
            .annotations(annotations)
            .into()
    }
}

/// Only the first line of a long span is printed, and as much of it as there is room for: it is enough to find it.
fn shown(source: &Source, span: Span, width_max: usize) -> Span {
    let end = source.text.len();
    let (start, stop) = (span.start.min(end), span.end.min(end));
    let text = source.text.get(start..stop).unwrap_or_default();
    let first_line = text.find('\n').map_or(stop, |newline| start + newline);
    let widest = text.char_indices().nth(width_max).map_or(stop, |(at, _)| start + at);
    Span::new(start, first_line.min(widest))
}

fn severity(level: Level) -> Severity<'static> {
    match level {
        Level::Error => Severity::ERROR,
        Level::Warning => Severity::WARNING,
        Level::Info => Severity::INFO,
    }
}

fn summary(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let (allowed, counting): (Vec<_>, Vec<_>) = diagnostics.iter().partition(|one| one.allowed.is_some());
    let count = |level| counting.iter().filter(|one| one.level == level).count();
    let counted = |number: usize, noun: &str| match number {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{number} {noun}s")),
    };
    let parts: Vec<String> = [
        counted(count(Level::Error), "error"),
        counted(count(Level::Warning), "warning"),
        counted(count(Level::Info), "note"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let found = if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") };
    let allowed = if allowed.is_empty() { String::new() } else { format!(" ({} allowed)", allowed.len()) };
    format!("{}: {found}{allowed}", source.path)
}
