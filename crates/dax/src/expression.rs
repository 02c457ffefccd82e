//! Expressions. Clients parse their texts and send trees; here they become texts again, with placeholders of our own,
//! because the engine's operations take texts: it alone says what an expression means and what is wrong with it.
//!
//! ```text
//! condition, filter, key condition, update   [1, tree, [values]]
//! projection                                 [1, [paths]]
//! node                                       [function, argument, …]
//! ```

use std::collections::BTreeMap;

use expression::{ExpressionError, Path, Projection, Step};
use item::ValueBuf;

use crate::cbor::{Head, Malformed, Reader};
use crate::value::{self, Unreadable};

const FORMAT: i64 = 1;
const TAG_INDEX: u64 = 3324;

/// How deep nodes may be nested: an expression has 300 operators.
const DEPTH_MAX: usize = 320;

/// How many values one expression may have.
const VALUES_MAX: usize = 4096;

/// What the names and values in the texts of one request stand for.
#[derive(Debug, Default)]
pub struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, ValueBuf>,
}

impl Placeholders {
    pub fn names(&self) -> Option<BTreeMap<String, String>> {
        let names = self.names.iter().map(|(name, placeholder)| (placeholder.clone(), name.clone()));
        (!self.names.is_empty()).then(|| names.collect())
    }

    pub fn values(self) -> Option<BTreeMap<String, ValueBuf>> {
        (!self.values.is_empty()).then_some(self.values)
    }

    /// The text of a condition, filter or key condition.
    pub fn condition(&mut self, bytes: &[u8]) -> Result<String, Unreadable> {
        let (tree, values) = parts(bytes)?;
        let mut printer = Printer { placeholders: self, values, text: String::new() };
        printer.node(&mut Reader(tree), Precedence::Or, 0)?;
        Ok(printer.text)
    }

    /// The text of an update.
    pub fn update(&mut self, bytes: &[u8]) -> Result<String, Unreadable> {
        let (tree, values) = parts(bytes)?;
        let mut printer = Printer { placeholders: self, values, text: String::new() };
        printer.update(&mut Reader(tree))?;
        Ok(printer.text)
    }

    /// The text of these attributes as a projection.
    pub fn attributes<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> String {
        names.map(|name| self.name(name)).collect::<Vec<_>>().join(",")
    }

    /// A name as it may stand in a text.
    fn name(&mut self, name: &str) -> String {
        let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_plain && !expression::is_reserved(name) {
            return name.to_owned();
        }
        let next = format!("#{}", self.names.len());
        self.names.entry(name.to_owned()).or_insert(next).clone()
    }
}

/// Reads a projection: the paths in the order in which the client numbers them.
pub fn projection(bytes: &[u8]) -> Result<Result<Projection, ExpressionError>, Malformed> {
    let mut reader = Reader(bytes);
    let mut left = reader.array()?;
    format(&mut reader, &mut left)?;
    if !reader.more(&mut left)? {
        return Err(Malformed("a projection has paths"));
    }
    let paths = reader.elements(|reader| {
        let mut left = reader.array()?;
        match function(reader, &mut left)? {
            Function::DocumentPath => path(reader, &mut left),
            _ => Err(Malformed("a projection has paths alone")),
        }
    })?;
    if paths.is_empty() {
        return Err(Malformed("a projection has paths"));
    }
    Ok(Projection::new(paths))
}

/// The tree and the values of an expression.
fn parts(bytes: &[u8]) -> Result<(&[u8], Vec<ValueBuf>), Unreadable> {
    let mut reader = Reader(bytes);
    let mut left = reader.array()?;
    format(&mut reader, &mut left)?;
    if !reader.more(&mut left)? {
        return Err(Malformed("an expression has a tree").into());
    }
    let tree = skip_tree(&mut reader)?;
    if !reader.more(&mut left)? {
        return Err(Malformed("an expression has values").into());
    }
    let mut values = Vec::new();
    let mut left = reader.array()?;
    while reader.more(&mut left)? {
        if values.len() == VALUES_MAX {
            return Err(Malformed("an expression has too many values").into());
        }
        values.push(value::read(&mut reader)?);
    }
    Ok((tree, values))
}

/// Passes over a tree, which may be deeper than values are, and returns its bytes.
fn skip_tree<'b>(reader: &mut Reader<'b>) -> Result<&'b [u8], Malformed> {
    let start = reader.0;
    skip_node(reader, 0)?;
    Ok(&start[..start.len() - reader.0.len()])
}

fn skip_node(reader: &mut Reader<'_>, depth: usize) -> Result<(), Malformed> {
    if depth > DEPTH_MAX {
        return Err(Malformed("an expression is nested too deep"));
    }
    match reader.head()? {
        Head::Array(length) => {
            let mut left = Reader::left(length);
            while reader.more(&mut left)? {
                skip_node(reader, depth + 1)?;
            }
        }
        Head::Bytes(length) | Head::Text(length) => {
            reader.take(length)?;
        }
        Head::Tag(_) => skip_node(reader, depth + 1)?,
        Head::Map(_) | Head::Break => return Err(Malformed("a tree has neither maps nor breaks")),
        _ => {}
    }
    Ok(())
}

fn format(reader: &mut Reader<'_>, left: &mut crate::cbor::Left) -> Result<(), Malformed> {
    match reader.more(left)? && reader.int()? == FORMAT {
        true => Ok(()),
        false => Err(Malformed("an expression of an unknown format")),
    }
}

/// What a node does, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Compare(&'static str),
    And,
    Or,
    Not,
    Between,
    In,
    Call(&'static str),
    Variable,
    DocumentPath,
    Action(Section),
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Set,
    Add,
    Delete,
    Remove,
}

/// How tight a node holds its parts together; a looser one inside of a tighter one needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Not,
    Operand,
}

fn function(reader: &mut Reader<'_>, left: &mut crate::cbor::Left) -> Result<Function, Malformed> {
    if !reader.more(left)? {
        return Err(Malformed("a node has a function"));
    }
    Ok(match reader.int()? {
        0 => Function::Compare("="),
        1 => Function::Compare("<>"),
        2 => Function::Compare("<"),
        3 => Function::Compare(">="),
        4 => Function::Compare(">"),
        5 => Function::Compare("<="),
        6 => Function::And,
        7 => Function::Or,
        8 => Function::Not,
        9 => Function::Between,
        10 => Function::In,
        11 => Function::Call("attribute_exists"),
        12 => Function::Call("attribute_not_exists"),
        13 => Function::Call("attribute_type"),
        14 => Function::Call("begins_with"),
        15 => Function::Call("contains"),
        16 => Function::Call("size"),
        17 => Function::Variable,
        18 => Function::DocumentPath,
        19 => Function::Action(Section::Set),
        20 => Function::Action(Section::Add),
        21 => Function::Action(Section::Delete),
        22 => Function::Action(Section::Remove),
        23 => Function::Call("if_not_exists"),
        24 => Function::Call("list_append"),
        25 => Function::Plus,
        26 => Function::Minus,
        _ => return Err(Malformed("a node has an unknown function")),
    })
}

fn path(reader: &mut Reader<'_>, left: &mut crate::cbor::Left) -> Result<Path, Malformed> {
    if !reader.more(left)? {
        return Err(Malformed("a path has a name"));
    }
    let mut path = Path::of_attribute(reader.text()?);
    while reader.more(left)? {
        path.steps.push(match reader.head()? {
            Head::Text(length) => Step::Name(reader.utf8(length)?.to_owned()),
            Head::Tag(TAG_INDEX) => {
                let index = u32::try_from(reader.int()?);
                Step::Index(index.map_err(|_| Malformed("a list has no such index"))?)
            }
            _ => return Err(Malformed("a path has names and indexes")),
        });
    }
    Ok(path)
}

struct Printer<'p> {
    placeholders: &'p mut Placeholders,
    values: Vec<ValueBuf>,
    text: String,
}

impl Printer<'_> {
    fn update(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let mut section = None;
        let mut actions = reader.array()?;
        while reader.more(&mut actions)? {
            let mut left = reader.array()?;
            let Function::Action(next) = function(reader, &mut left)? else {
                return Err(Malformed("an update has actions alone"));
            };
            self.text.push_str(match (section == Some(next), next) {
                (true, _) => ",",
                (false, Section::Set) => " SET ",
                (false, Section::Add) => " ADD ",
                (false, Section::Delete) => " DELETE ",
                (false, Section::Remove) => " REMOVE ",
            });
            section = Some(next);
            self.argument(reader, &mut left)?;
            if next != Section::Remove {
                self.text.push_str(if next == Section::Set { "=" } else { " " });
                self.argument(reader, &mut left)?;
            }
            end(reader, &mut left)?;
        }
        Ok(())
    }

    /// The next part of a node, which is an operand.
    fn argument(&mut self, reader: &mut Reader<'_>, left: &mut crate::cbor::Left) -> Result<(), Malformed> {
        self.part(reader, left, Precedence::Or, 1)
    }

    fn part(
        &mut self,
        reader: &mut Reader<'_>,
        left: &mut crate::cbor::Left,
        within: Precedence,
        depth: usize,
    ) -> Result<(), Malformed> {
        match reader.more(left)? {
            true => self.node(reader, within, depth),
            false => Err(Malformed("a node has too few parts")),
        }
    }

    fn node(&mut self, reader: &mut Reader<'_>, within: Precedence, depth: usize) -> Result<(), Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed("an expression is nested too deep"));
        }
        let left = &mut reader.array()?;
        let function = function(reader, left)?;
        let own = match function {
            Function::Or => Precedence::Or,
            Function::And => Precedence::And,
            Function::Not | Function::Compare(_) | Function::Between | Function::In => Precedence::Not,
            // A sum within a sum.
            Function::Plus | Function::Minus => Precedence::Not,
            _ => Precedence::Operand,
        };
        let is_enclosed = own < within;
        if is_enclosed {
            self.text.push('(');
        }
        let depth = depth + 1;
        match function {
            Function::And | Function::Or => {
                self.pair(reader, left, own, if own == Precedence::And { " AND " } else { " OR " }, depth)?
            }
            Function::Not => {
                self.text.push_str("NOT ");
                self.part(reader, left, Precedence::Not, depth)?;
            }
            Function::Compare(sign) => self.pair(reader, left, Precedence::Operand, sign, depth)?,
            Function::Plus => self.pair(reader, left, Precedence::Operand, "+", depth)?,
            Function::Minus => self.pair(reader, left, Precedence::Operand, "-", depth)?,
            Function::Between => {
                self.pair(reader, left, Precedence::Operand, " BETWEEN ", depth)?;
                self.text.push_str(" AND ");
                self.part(reader, left, Precedence::Operand, depth)?;
            }
            Function::In => {
                self.part(reader, left, Precedence::Operand, depth)?;
                self.text.push_str(" IN ");
                if !reader.more(left)? {
                    return Err(Malformed("a node has too few parts"));
                }
                let mut members = reader.array()?;
                self.list(reader, &mut members, depth)?;
            }
            Function::Call(name) => {
                self.text.push_str(name);
                self.list(reader, left, depth)?;
            }
            Function::Variable => {
                if !reader.more(left)? {
                    return Err(Malformed("a variable has a number"));
                }
                let place = usize::try_from(reader.int()?).ok();
                let value = place.and_then(|place| self.values.get(place));
                let value = value.ok_or(Malformed("there is no such variable"))?.clone();
                let name = format!(":{}", self.placeholders.values.len());
                self.text.push_str(&name);
                self.placeholders.values.insert(name, value);
            }
            Function::DocumentPath => {
                let path = path(reader, left)?;
                let name = self.placeholders.name(&path.attribute);
                self.text.push_str(&name);
                for step in &path.steps {
                    match step {
                        Step::Name(name) => {
                            self.text.push('.');
                            let name = self.placeholders.name(name);
                            self.text.push_str(&name);
                        }
                        Step::Index(index) => self.text.push_str(&format!("[{index}]")),
                    }
                }
            }
            Function::Action(_) => return Err(Malformed("an action inside of an expression")),
        }
        end(reader, left)?;
        if is_enclosed {
            self.text.push(')');
        }
        Ok(())
    }

    fn pair(
        &mut self,
        reader: &mut Reader<'_>,
        left: &mut crate::cbor::Left,
        within: Precedence,
        sign: &str,
        depth: usize,
    ) -> Result<(), Malformed> {
        self.part(reader, left, within, depth)?;
        self.text.push_str(sign);
        self.part(reader, left, within, depth)
    }

    /// All parts that are left, in parentheses.
    fn list(
        &mut self,
        reader: &mut Reader<'_>,
        left: &mut crate::cbor::Left,
        depth: usize,
    ) -> Result<(), Malformed> {
        self.text.push('(');
        let mut is_first = true;
        while reader.more(left)? {
            if !is_first {
                self.text.push(',');
            }
            is_first = false;
            self.node(reader, Precedence::Or, depth)?;
        }
        self.text.push(')');
        Ok(())
    }
}

fn end(reader: &mut Reader<'_>, left: &mut crate::cbor::Left) -> Result<(), Malformed> {
    match reader.more(left)? {
        false => Ok(()),
        true => Err(Malformed("a node has too many parts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbor::Writer;

    /// Nodes as they are written in tests.
    enum N {
        F(i64, Vec<N>),
        L(Vec<N>),
        I(i64),
        T(&'static str),
        X(i64),
    }
    use N::*;

    fn write(node: &N, writer: &mut Writer) {
        match node {
            F(function, parts) => {
                writer.array(parts.len() + 1);
                writer.int(*function);
                parts.iter().for_each(|part| write(part, writer));
            }
            L(parts) => {
                writer.array(parts.len());
                parts.iter().for_each(|part| write(part, writer));
            }
            I(value) => writer.int(*value),
            T(text) => writer.text(text),
            X(index) => {
                writer.tag(TAG_INDEX);
                writer.int(*index);
            }
        }
    }

    fn encoded(tree: N, values: &[i64]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.array(3);
        writer.int(FORMAT);
        write(&tree, &mut writer);
        writer.array(values.len());
        values.iter().for_each(|value| writer.int(*value));
        writer.0
    }

    fn at(name: &'static str) -> N {
        F(18, vec![T(name)])
    }

    fn var(number: i64) -> N {
        F(17, vec![I(number)])
    }

    fn condition(tree: N, values: &[i64]) -> String {
        Placeholders::default().condition(&encoded(tree, values)).unwrap()
    }

    #[test]
    fn the_example_of_the_wire_is_a_text() {
        let bytes = [0x83, 0x01, 0x82, 0x0C, 0x82, 0x12, 0x62, 0x70, 0x6B, 0x80];
        assert_eq!(Placeholders::default().condition(&bytes).unwrap(), "attribute_not_exists(pk)");
    }

    #[test]
    fn parentheses_are_written_where_the_meaning_needs_them() {
        let equal = |name| F(0, vec![at(name), var(0)]);
        let or = F(7, vec![equal("a"), equal("b")]);
        assert_eq!(condition(F(6, vec![or, equal("c")]), &[1]), "(a=:0 OR b=:1) AND c=:2");
        let and = F(6, vec![equal("a"), equal("b")]);
        assert_eq!(condition(F(7, vec![and, equal("c")]), &[1]), "a=:0 AND b=:1 OR c=:2");
        let and = F(6, vec![equal("a"), equal("b")]);
        assert_eq!(condition(F(8, vec![and]), &[1]), "NOT (a=:0 AND b=:1)");
        let within = F(10, vec![at("a"), L(vec![var(0), var(1)])]);
        assert_eq!(condition(F(8, vec![within]), &[1, 2]), "NOT a IN (:0,:1)");
        let between = F(9, vec![F(16, vec![at("a")]), var(0), var(1)]);
        assert_eq!(condition(between, &[1, 2]), "size(a) BETWEEN :0 AND :1");
    }

    #[test]
    fn names_that_may_not_stand_in_a_text_get_placeholders() {
        let mut placeholders = Placeholders::default();
        let path = F(18, vec![T("size"), T("a.b"), X(3), T("ok")]);
        let text = placeholders.condition(&encoded(F(11, vec![path]), &[])).unwrap();
        assert_eq!(text, "attribute_exists(#0.#1[3].ok)");
        assert_eq!(placeholders.names().unwrap()["#1"], "a.b");
    }

    #[test]
    fn updates_keep_their_order() {
        let sum = F(25, vec![F(23, vec![at("n"), var(0)]), var(1)]);
        let actions = vec![
            F(19, vec![at("n"), sum]),
            F(19, vec![at("m"), F(26, vec![at("m"), var(1)])]),
            F(22, vec![at("gone")]),
            F(20, vec![at("hits"), var(0)]),
        ];
        let text = Placeholders::default().update(&encoded(L(actions), &[0, 1])).unwrap();
        assert_eq!(text, " SET n=if_not_exists(n,:0)+:1,m=m-:2 REMOVE gone ADD hits :3");
        assert!(expression::parser::update(&text).is_ok());
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused_without_recursing_further() {
        let mut bytes = vec![0x83, 0x01];
        bytes.extend([0x82, 0x08].repeat(100_000));
        let refused = Placeholders::default().condition(&bytes);
        assert_eq!(refused, Err(Malformed("an expression is nested too deep").into()));
    }
}
