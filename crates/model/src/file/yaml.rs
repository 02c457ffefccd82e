//! YAML text -> nodes with spans. Nothing here knows what a model is.
//!
//! A model has no aliases: it should read the same from any line. Other tools' files may have them, and merge keys
//! (`<<`), up to a bound: with aliases a small file can expand without end. Tags mean nothing in a model, but they do
//! in other tools' files.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use crate::{Diagnostic, Source, Span};

/// How many nodes aliases may add to another tool's file.
const ALIASED_MAX: usize = 100_000;
/// The key whose mappings are merged into its own.
const MERGE: &str = "<<";

/// Deeper than any model and any document it keeps, and far below what the stack allows.
const DEPTH_MAX: usize = 64;

#[derive(Clone, Debug)]
pub struct Node {
    pub value: NodeValue,
    pub span: Span,
    /// `Ref` of `!Ref table`.
    pub tag: Option<String>,
}

#[derive(Clone, Debug)]
pub enum NodeValue {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(Scalar, Node)>),
}

/// A scalar's text, and the span of each part of it.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub text: String,
    pub quoted: bool,
    pub span: Span,
    /// Where the text begins in the file, if it is there literally (without escapes or folded lines).
    start: Option<usize>,
}

impl Scalar {
    /// The span of a part of the text.
    pub fn part(&self, start: usize, end: usize) -> Span {
        match self.start {
            Some(first) => Span::new(first + start, first + end),
            None => self.span,
        }
    }

    pub fn is_null(&self) -> bool {
        !self.quoted && matches!(self.text.as_str(), "" | "~" | "null")
    }
}

impl Node {
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            NodeValue::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    fn entries(self) -> Vec<(Scalar, Node)> {
        match self.value {
            NodeValue::Map(entries) => entries,
            _ => Vec::new(),
        }
    }

    fn children(&self) -> Vec<&Node> {
        match &self.value {
            NodeValue::Scalar(_) => Vec::new(),
            NodeValue::List(elements) => elements.iter().collect(),
            NodeValue::Map(entries) => entries.iter().map(|(_, node)| node).collect(),
        }
    }

    /// How many nodes it consists of.
    fn count(&self) -> usize {
        1 + self.children().into_iter().map(Node::count).sum::<usize>()
    }

    fn depth(&self) -> usize {
        1 + self.children().into_iter().map(Node::depth).max().unwrap_or(0)
    }

    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Scalar(_) => "a single value",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a mapping",
        }
    }
}

/// Nodes without spans.
pub fn from_json(value: &serde_json::Value) -> Node {
    use serde_json::Value;
    let scalar = |text: &str, quoted: bool| Scalar {
        text: text.to_owned(),
        quoted,
        span: Span::default(),
        start: None,
    };
    let value = match value {
        Value::String(text) => NodeValue::Scalar(scalar(text, true)),
        Value::Array(elements) => NodeValue::List(elements.iter().map(from_json).collect()),
        Value::Object(members) => NodeValue::Map(
            members.iter().map(|(name, value)| (scalar(name, true), from_json(value))).collect(),
        ),
        plain => NodeValue::Scalar(scalar(&plain.to_string(), false)),
    };
    Node { value, span: Span::default(), tag: None }
}

/// The only document of the text. Repeated keys are reported, and the first one counts.
pub fn parse(source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    parse_with(source, diagnostics, None)
}

/// The same of another tool's file, which may have aliases and merge keys.
pub fn parse_foreign(source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    parse_with(source, diagnostics, Some(Anchors::default()))
}

/// The nodes that have an anchor, and how many nodes their aliases have added.
#[derive(Default)]
struct Anchors {
    nodes: HashMap<usize, Node>,
    added: usize,
}

fn parse_with(source: &Source, diagnostics: &mut Vec<Diagnostic>, anchors: Option<Anchors>) -> Option<Node> {
    let events: Result<Vec<_>, _> = Parser::new_from_str(&source.text).collect();
    let bytes = Bytes::new(&source.text);
    let events = match events {
        Ok(events) => events,
        Err(error) => {
            let at = bytes.at(error.marker());
            diagnostics.push(not_yaml(&source.text, at, error.info()));
            return None;
        }
    };
    let mut builder = Builder { source, bytes, events: events.into_iter(), anchors, diagnostics };
    builder.document()
}

/// The name of a custom tag; YAML's own tags (`!!str`) are ignored.
fn name_of(tag: Option<&Tag>) -> Option<String> {
    tag.filter(|tag| tag.handle == "!").map(|tag| tag.suffix.clone())
}

fn not_yaml(text: &str, at: usize, info: &str) -> Diagnostic {
    let end = text[at..].chars().next().map_or(at, |character| at + character.len_utf8());
    Diagnostic::error(Span::new(at, end), format!("this is not YAML: {info}"))
        .help("text with `{`, `#` after a space, or `: ` inside needs quotes")
}

/// The parser counts characters; spans are bytes.
struct Bytes(Vec<usize>);

impl Bytes {
    fn new(text: &str) -> Bytes {
        Bytes(text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect())
    }

    fn at(&self, marker: &Marker) -> usize {
        self.0.get(marker.index()).or(self.0.last()).copied().unwrap_or(0)
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        Span::new(self.at(&span.start), self.at(&span.end))
    }
}

struct Builder<'a> {
    source: &'a Source,
    bytes: Bytes,
    events: std::vec::IntoIter<(Event<'a>, saphyr_parser::Span)>,
    /// `None` in a model file, which has none.
    anchors: Option<Anchors>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Builder<'_> {
    fn document(&mut self) -> Option<Node> {
        let mut root = None;
        while let Some((event, span)) = self.events.next() {
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if root.is_none() => {}
                Event::DocumentStart(_) => {
                    let span = self.bytes.span(span);
                    self.diagnostics.push(Diagnostic::error(span, "a model file holds one document"));
                    return None;
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        root
    }

    fn node(&mut self, event: Event<'_>, span: saphyr_parser::Span, depth: usize) -> Option<Node> {
        let span = self.bytes.span(span);
        if depth > DEPTH_MAX {
            self.diagnostics.push(Diagnostic::error(span, "nested too deeply"));
            return None;
        }
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, Node { tag: name_of(tag.as_deref()), ..self.scalar_node(&text, style, span) })
            }
            Event::SequenceStart(anchor, tag) => {
                (anchor, Node { tag: name_of(tag.as_deref()), ..self.list(span, depth)? })
            }
            Event::MappingStart(anchor, tag) => {
                (anchor, Node { tag: name_of(tag.as_deref()), ..self.map(span, depth)? })
            }
            Event::Alias(anchor) => return self.aliased(anchor, span, depth),
            _ => return None,
        };
        if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor > 0) {
            anchors.nodes.insert(anchor, node.clone());
        }
        Some(node)
    }

    fn aliased(&mut self, anchor: usize, span: Span, depth: usize) -> Option<Node> {
        let found = self.anchors.as_mut().map(|anchors| {
            let node = anchors.nodes.get(&anchor)?;
            anchors.added += node.count();
            let fits = anchors.added <= ALIASED_MAX && depth + node.depth() <= DEPTH_MAX;
            fits.then(|| node.clone())
        });
        let message = match found {
            Some(Some(node)) => return Some(node),
            Some(None) => "its aliases expand without end",
            None => "aliases are not read: write the value out",
        };
        self.diagnostics.push(Diagnostic::error(span, message));
        None
    }

    /// Members of the mappings under `<<` that the mapping does not have itself; of several the first counts.
    fn merged(&self, mut entries: Vec<(Scalar, Node)>) -> Vec<(Scalar, Node)> {
        let merges = |(key, _): &(Scalar, Node)| key.text == MERGE && !key.quoted;
        let Some(at) = entries.iter().position(merges).filter(|_| self.anchors.is_some()) else {
            return entries;
        };
        let (_, merged) = entries.remove(at);
        let mappings = match merged.value {
            NodeValue::List(nodes) => nodes,
            _ => vec![merged],
        };
        for (key, node) in mappings.into_iter().flat_map(Node::entries) {
            if !entries.iter().any(|(known, _)| known.text == key.text) {
                entries.push((key, node));
            }
        }
        entries
    }

    fn scalar_node(&self, text: &str, style: ScalarStyle, span: Span) -> Node {
        let scalar = self.scalar(text, style, span);
        Node { span: scalar.span, value: NodeValue::Scalar(scalar), tag: None }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: Span) -> Scalar {
        let quoted = !matches!(style, ScalarStyle::Plain);
        let first = span.start + usize::from(quoted);
        let as_it_is = self.source.text.get(first..).is_some_and(|rest| rest.starts_with(text));
        let start = as_it_is.then_some(first);
        let span = match start {
            Some(first) => Span::new(span.start, first + text.len() + usize::from(quoted)),
            None => span,
        };
        Scalar { text: text.to_owned(), quoted, span, start }
    }

    fn list(&mut self, start: Span, depth: usize) -> Option<Node> {
        let mut elements: Vec<Node> = Vec::new();
        loop {
            let (event, span) = self.events.next()?;
            if matches!(event, Event::SequenceEnd) {
                let last = elements.last().map(|node| node.span);
                let span = self.collection(start, last, self.bytes.span(span));
                return Some(Node { value: NodeValue::List(elements), span, tag: None });
            }
            elements.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, start: Span, depth: usize) -> Option<Node> {
        let mut entries: Vec<(Scalar, Node)> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        loop {
            let (event, span) = self.events.next()?;
            if matches!(event, Event::MappingEnd) {
                let first = entries.first().map_or(start, |(key, _)| key.span.to(start));
                let last = entries.last().map(|(key, node)| key.span.to(node.span));
                let span = self.collection(first, last, self.bytes.span(span));
                return Some(Node { value: NodeValue::Map(self.merged(entries)), span, tag: None });
            }
            let key = self.key(event, span)?;
            let (event, span) = self.events.next()?;
            let value = self.node(event, span, depth + 1)?;
            match seen.get(&key.text) {
                Some(earlier) => self.diagnostics.push(
                    Diagnostic::error(key.span, format!("`{}` is here twice", key.text))
                        .related(*earlier, "first here"),
                ),
                None => {
                    seen.insert(key.text.clone(), key.span);
                    entries.push((key, value));
                }
            }
        }
    }

    fn key(&mut self, event: Event<'_>, span: saphyr_parser::Span) -> Option<Scalar> {
        let span = self.bytes.span(span);
        match event {
            Event::Scalar(text, style, ..) => Some(self.scalar(&text, style, span)),
            _ => {
                self.diagnostics.push(Diagnostic::error(span, "a name must be a single word"));
                None
            }
        }
    }

    /// A block ends with its last element, a bracketed collection with its bracket. The parser reports as the end of a
    /// bracketed collection the next token after it, which may be lines away.
    fn collection(&self, start: Span, last: Option<Span>, end: Span) -> Span {
        let text = &self.source.text;
        let bracket = match text[start.start..].chars().next() {
            Some('{') => '}',
            Some('[') => ']',
            _ => return start.to(last.unwrap_or(end)),
        };
        let from = last.map_or(start.start + 1, |last| last.end);
        let closed = text.get(from..).and_then(|rest| rest.find(bracket)).map(|at| from + at + 1);
        start.to(closed.map_or(end, |closed| Span::new(closed, closed)))
    }
}
