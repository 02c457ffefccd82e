//! Findings as a compiler prints them: the line, the text underlined, the reason, and what to do.

use annotate_snippets::{AnnotationKind, Element, Group, Level as Severity, Renderer, Snippet};

use super::wrap::wrap;
use super::{Diagnostic, Level};
use crate::{Source, Span};

/// What the line numbers and the dots of a shortened line take, at most.
const FRAME_WIDTH: usize = 20;

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
    let mut out = String::new();
    for diagnostic in diagnostics.iter().filter(|one| one.allowed.is_none()) {
        out.push_str(&renderer.render(&[group(source, diagnostic, span_width_max)]).to_string());
        out.push_str("\n\n");
    }
    out.push_str(&summary(source, diagnostics));
    out.push('\n');
    out
}

fn group<'a>(source: &'a Source, diagnostic: &'a Diagnostic, span_width_max: usize) -> Group<'a> {
    let mut title = severity(diagnostic.level).primary_title(diagnostic.message.as_str());
    if let Some(rule) = diagnostic.rule {
        title = title.id(rule.to_string());
    }
    let why = diagnostic.why.iter().map(|why| Element::from(Severity::NOTE.message(why.as_str())));
    let help = diagnostic.help.iter().map(|help| Element::from(Severity::HELP.message(help.as_str())));
    title.element(snippet(source, diagnostic, span_width_max)).elements(why).elements(help)
}

fn snippet<'a>(
    source: &'a Source,
    diagnostic: &'a Diagnostic,
    span_width_max: usize,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let primary = AnnotationKind::Primary
        .span(shown(source, diagnostic.span, span_width_max))
        .label((!diagnostic.label.is_empty()).then_some(diagnostic.label.as_str()));
    let related = diagnostic
        .related
        .iter()
        .map(|(span, note)| (shown(source, *span, span_width_max), note))
        .map(|(span, note)| AnnotationKind::Context.span(span).label(note.as_str()));
    Snippet::source(source.text.as_str()).path(source.path.as_str()).annotation(primary).annotations(related)
}

/// Only the first line of a long span is printed, and as much of it as there is room for: it is enough to find it.
fn shown(source: &Source, span: Span, width_max: usize) -> std::ops::Range<usize> {
    let end = source.text.len();
    let (start, stop) = (span.start.min(end), span.end.min(end));
    let text = source.text.get(start..stop).unwrap_or_default();
    let first_line = text.find('\n').map_or(stop, |newline| start + newline);
    let widest = text.char_indices().nth(width_max).map_or(stop, |(at, _)| start + at);
    start..first_line.min(widest)
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
