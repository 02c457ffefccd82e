//! YAML text that is easy to read: on one line if it fits, comments before the element that they are about.

/// Lines longer than this are broken where they can be.
const WIDTH: usize = 110;

#[derive(Clone, Debug)]
pub enum LayoutNode {
    /// As it is in the file, quoted if necessary.
    Scalar(String),
    /// A sentence: outside brackets it seldom needs quotes.
    Prose(String),
    List(Vec<LayoutNode>),
    Map(Map),
}

#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<Entry>,
    /// One entry per line, even if all would fit on one.
    open: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    comment: Option<String>,
    name: String,
    value: LayoutNode,
}

impl Map {
    pub fn new() -> Map {
        Map::default()
    }

    pub fn open() -> Map {
        Map { entries: Vec::new(), open: true }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn put(&mut self, name: &str, value: LayoutNode) {
        self.put_with(None, name, value);
    }

    pub fn put_with(&mut self, comment: Option<String>, name: &str, value: LayoutNode) {
        self.entries.push(Entry { comment, name: scalar(name), value });
    }

    /// `name` is already quoted, if necessary.
    pub fn put_as(&mut self, name: String, value: LayoutNode) {
        self.entries.push(Entry { comment: None, name, value });
    }

    pub fn put_some(&mut self, name: &str, value: Option<LayoutNode>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// The shortest form of a list of names; nothing if it is empty.
    pub fn put_names<'n>(&mut self, name: &str, names: impl IntoIterator<Item = &'n str>) {
        let mut names: Vec<LayoutNode> = names.into_iter().map(text).collect();
        match names.len() {
            0 => {}
            1 => self.put(name, names.remove(0)),
            _ => self.put(name, LayoutNode::List(names)),
        }
    }

    pub fn put_map(&mut self, name: &str, map: Map) {
        if !map.is_empty() {
            self.put(name, LayoutNode::Map(map));
        }
    }
}

impl LayoutNode {
    /// Each member of a mapping on one line; the members named in `opened` are expanded.
    pub fn members(&self, opened: &[&str]) -> Vec<(String, String)> {
        let LayoutNode::Map(map) = self else { return Vec::new() };
        let mut members = Vec::new();
        for Entry { name, value, .. } in &map.entries {
            match opened.contains(&name.as_str()) {
                true => {
                    let inner = value.members(&[]).into_iter();
                    members.extend(inner.map(|(inner, text)| (format!("{name}.{inner}"), text)));
                }
                false => members.push((name.clone(), bracketed(value))),
            }
        }
        members
    }
}

/// A whole document, with blank lines between its sections.
pub fn document(root: &Map) -> String {
    let mut out = String::new();
    let mut spacious = false;
    for (position, entry) in root.entries.iter().enumerate() {
        let start = out.len();
        entry_lines(&mut out, entry, 0);
        let large = out[start..].matches('\n').count() > 1;
        if position > 0 && (large || spacious) {
            out.insert(start, '\n');
        }
        spacious = large;
    }
    out
}

fn entry_lines(out: &mut String, entry: &Entry, indent: usize) {
    if let Some(comment) = &entry.comment {
        comment_lines(out, comment, indent);
    }
    margin(out, indent);
    out.push_str(&entry.name);
    out.push(':');
    value_lines(out, &entry.value, indent, entry.name.len() + 1);
}

/// The value behind `name:`, on its line or on the lines below.
fn value_lines(out: &mut String, value: &LayoutNode, indent: usize, used: usize) {
    let prose = matches!(value, LayoutNode::Prose(_));
    if let Some(line) =
        one_line(value).filter(|line| !prose && indent + used + 1 + line.chars().count() <= WIDTH)
    {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
        return;
    }
    match value {
        LayoutNode::Scalar(text) => {
            out.push(' ');
            out.push_str(text);
            out.push('\n');
        }
        LayoutNode::Prose(text) => {
            out.push(' ');
            out.push_str(&plain_prose(text));
            out.push('\n');
        }
        LayoutNode::List(nodes) => {
            out.push('\n');
            nodes.iter().for_each(|node| element_lines(out, node, indent + 2));
        }
        LayoutNode::Map(map) => {
            out.push('\n');
            map.entries.iter().for_each(|entry| entry_lines(out, entry, indent + 2));
        }
    }
}

/// `- element`.
fn element_lines(out: &mut String, node: &LayoutNode, indent: usize) {
    let fits = one_line(node).filter(|line| indent + 2 + line.chars().count() <= WIDTH);
    let line = match (fits, node) {
        (Some(line), _) => line,
        (None, LayoutNode::Map(map)) if !map.is_empty() => return mapped_element_lines(out, map, indent),
        // A list in a list: the line gets long, but is valid.
        (None, node) => bracketed(node),
    };
    margin(out, indent);
    out.push_str("- ");
    out.push_str(&line);
    out.push('\n');
}

fn mapped_element_lines(out: &mut String, map: &Map, indent: usize) {
    let start = out.len();
    map.entries.iter().for_each(|entry| entry_lines(out, entry, indent + 2));
    // A comment would be between the dash and its element, so elements have none.
    out.replace_range(start + indent..start + indent + 1, "-");
}

/// In brackets, if nothing in it needs lines of its own.
fn one_line(node: &LayoutNode) -> Option<String> {
    is_closed(node).then(|| bracketed(node))
}

fn is_closed(node: &LayoutNode) -> bool {
    match node {
        LayoutNode::Scalar(_) | LayoutNode::Prose(_) => true,
        LayoutNode::List(nodes) => nodes.iter().all(is_closed),
        LayoutNode::Map(map) => {
            let plain = |entry: &Entry| entry.comment.is_none() && is_closed(&entry.value);
            map.is_empty() || (!map.open && map.entries.iter().all(plain))
        }
    }
}

fn bracketed(node: &LayoutNode) -> String {
    match node {
        LayoutNode::Scalar(text) => text.clone(),
        LayoutNode::Prose(text) => scalar(text),
        LayoutNode::List(nodes) => {
            format!("[{}]", nodes.iter().map(bracketed).collect::<Vec<_>>().join(", "))
        }
        LayoutNode::Map(map) if map.is_empty() => "{}".to_owned(),
        LayoutNode::Map(map) => {
            let entry = |entry: &Entry| format!("{}: {}", entry.name, bracketed(&entry.value));
            format!("{{ {} }}", map.entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn margin(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// `# …`, broken between words.
pub fn comment_lines(out: &mut String, comment: &str, indent: usize) {
    for paragraph in comment.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + 3 + line.chars().count() + word.chars().count() > WIDTH {
                comment_line(out, &line, indent);
                line.clear();
            }
            line.push(' ');
            line.push_str(word);
        }
        comment_line(out, &line, indent);
    }
}

fn comment_line(out: &mut String, line: &str, indent: usize) {
    margin(out, indent);
    out.push('#');
    out.push_str(line);
    out.push('\n');
}

pub fn text(text: &str) -> LayoutNode {
    LayoutNode::Scalar(scalar(text))
}

/// Unquoted where YAML reads it as the same text, else quoted.
pub fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

pub fn prose(text: &str) -> LayoutNode {
    LayoutNode::Prose(text.to_owned())
}

/// As the value of a name, on a line of its own.
fn plain_prose(text: &str) -> String {
    if is_plain_with(text, ",;!?'\"&[]{}…–") { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    is_plain_with(text, "")
}

fn is_plain_with(text: &str, also: &str) -> bool {
    let first = text.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '/');
    let last = text.chars().next_back().is_some_and(|c| c != ' ' && c != ':');
    let harmless = |c: char| c.is_alphanumeric() || "_-./#:%×+()<>=@$ ".contains(c) || also.contains(c);
    let null = matches!(text, "null" | "~");
    first && last && !null && text.chars().all(harmless) && !text.contains(": ") && !text.contains(" #")
}

pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

fn is_printable(character: char) -> bool {
    let separators = ['\u{85}', '\u{a0}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];
    !character.is_control() && !separators.contains(&character)
}
