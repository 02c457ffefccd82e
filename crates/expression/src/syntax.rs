//! The syntax of expressions, as written: placeholders unresolved, parentheses kept.
//!
//! Nodes are in one flat list, operands before the operators that use them, so a tree of any depth is walked and
//! dropped without recursion. Printing a tree gives a text that parses to the same tree.

use std::fmt;

/// A condition, filter or key condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTree {
    pub(crate) nodes: Nodes,
    pub(crate) root: NodeId,
}

/// An update: its actions in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateTree {
    pub(crate) nodes: Nodes,
    pub(crate) actions: Vec<WrittenAction>,
}

/// A projection: its paths in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionTree {
    pub(crate) paths: Vec<WrittenPath>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WrittenAction {
    Set { target: WrittenPath, value: NodeId },
    Remove { target: WrittenPath },
    Add { target: WrittenPath, value: String },
    Delete { target: WrittenPath, value: String },
}

impl WrittenAction {
    pub fn section(&self) -> Section {
        match self {
            WrittenAction::Set { .. } => Section::Set,
            WrittenAction::Remove { .. } => Section::Remove,
            WrittenAction::Add { .. } => Section::Add,
            WrittenAction::Delete { .. } => Section::Delete,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Set,
    Remove,
    Add,
    Delete,
}

impl Section {
    pub const ALL: [Section; 4] = [Section::Set, Section::Remove, Section::Add, Section::Delete];

    pub fn keyword(self) -> &'static str {
        match self {
            Section::Set => "SET",
            Section::Remove => "REMOVE",
            Section::Add => "ADD",
            Section::Delete => "DELETE",
        }
    }
}

/// A document path: a name, then names and list indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenPath(pub Vec<Element>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Name(String),
    /// Its `#` included.
    Placeholder(String),
    Index(u32),
}

/// The index of a node in its [`Nodes`]. A node only refers to nodes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes(Vec<Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Path(WrittenPath),
    /// Its `:` included.
    Value(String),
    Call {
        function: Function,
        arguments: Vec<NodeId>,
    },
    Compare {
        comparator: Comparator,
        left: NodeId,
        right: NodeId,
    },
    Between {
        subject: NodeId,
        lower: NodeId,
        upper: NodeId,
    },
    In {
        subject: NodeId,
        members: Vec<NodeId>,
    },
    Not(NodeId),
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Plus(NodeId, NodeId),
    Minus(NodeId, NodeId),
    Parentheses(NodeId),
}

impl Nodes {
    pub fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.0.len() as u32); // a text of 4096 bytes has fewer nodes than bytes
        self.0.push(node);
        id
    }

    pub fn get(&self, id: NodeId) -> &Node {
        &self.0[id.0 as usize]
    }

    /// The node within any parentheses.
    pub fn bare(&self, mut id: NodeId) -> &Node {
        while let Node::Parentheses(inner) = self.get(id) {
            id = *inner;
        }
        self.get(id)
    }

    /// All nodes, each after those that it refers to.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.0.iter()
    }

    pub fn index(id: NodeId) -> usize {
        id.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparator {
    pub(crate) fn from_sign(sign: &str) -> Option<Comparator> {
        Some(match sign {
            "=" => Comparator::Equal,
            "<>" => Comparator::NotEqual,
            "<" => Comparator::Less,
            "<=" => Comparator::LessOrEqual,
            ">" => Comparator::Greater,
            ">=" => Comparator::GreaterOrEqual,
            _ => return None,
        })
    }

    pub fn sign(self) -> &'static str {
        match self {
            Comparator::Equal => "=",
            Comparator::NotEqual => "<>",
            Comparator::Less => "<",
            Comparator::LessOrEqual => "<=",
            Comparator::Greater => ">",
            Comparator::GreaterOrEqual => ">=",
        }
    }

    /// The comparator that holds for `b, a` exactly when this one holds for `a, b`.
    pub fn mirrored(self) -> Comparator {
        match self {
            Comparator::Less => Comparator::Greater,
            Comparator::LessOrEqual => Comparator::GreaterOrEqual,
            Comparator::Greater => Comparator::Less,
            Comparator::GreaterOrEqual => Comparator::LessOrEqual,
            same => same,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Size,
    IfNotExists,
    ListAppend,
}

impl Function {
    const ALL: [Function; 8] = [
        Function::AttributeExists,
        Function::AttributeNotExists,
        Function::AttributeType,
        Function::BeginsWith,
        Function::Contains,
        Function::Size,
        Function::IfNotExists,
        Function::ListAppend,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Function::AttributeExists => "attribute_exists",
            Function::AttributeNotExists => "attribute_not_exists",
            Function::AttributeType => "attribute_type",
            Function::BeginsWith => "begins_with",
            Function::Contains => "contains",
            Function::Size => "size",
            Function::IfNotExists => "if_not_exists",
            Function::ListAppend => "list_append",
        }
    }

    pub fn operand_count(self) -> usize {
        match self {
            Function::AttributeExists | Function::AttributeNotExists | Function::Size => 1,
            _ => 2,
        }
    }

    /// Function names, unlike keywords, are written in lower case only.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|function| function.name() == name)
    }
}

impl fmt::Display for ConditionTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.print(self.root, f)
    }
}

impl fmt::Display for UpdateTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut section = None;
        for action in &self.actions {
            match section {
                None => write!(f, "{} ", action.section().keyword())?,
                Some(open) if open == action.section() => f.write_str(", ")?,
                Some(_) => write!(f, " {} ", action.section().keyword())?,
            }
            section = Some(action.section());
            match action {
                WrittenAction::Set { target, value } => {
                    write!(f, "{target} = ")?;
                    self.nodes.print(*value, f)?;
                }
                WrittenAction::Remove { target } => write!(f, "{target}")?,
                WrittenAction::Add { target, value } | WrittenAction::Delete { target, value } => {
                    write!(f, "{target} {value}")?
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for ProjectionTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for WrittenPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            match element {
                Element::Name(name) | Element::Placeholder(name) => write!(f, "{dot}{name}")?,
                Element::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Nodes {
    /// Prints without recursion: a stack holds what is still to be written, last first.
    fn print(&self, root: NodeId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Part {
            Text(&'static str),
            Node(NodeId),
        }
        use Part::*;
        fn separated(nodes: &[NodeId]) -> impl Iterator<Item = Part> + '_ {
            nodes
                .iter()
                .enumerate()
                .flat_map(|(index, node)| [Text(if index == 0 { "" } else { ", " }), Node(*node)])
        }

        let mut pending = vec![Node(root)];
        while let Some(part) = pending.pop() {
            let id = match part {
                Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Node(id) => id,
            };
            use crate::syntax::Node as N;
            let parts: Vec<Part> = match self.get(id) {
                N::Path(path) => {
                    write!(f, "{path}")?;
                    continue;
                }
                N::Value(value) => {
                    f.write_str(value)?;
                    continue;
                }
                N::Call { function, arguments } => [Text(function.name()), Text("(")]
                    .into_iter()
                    .chain(separated(arguments))
                    .chain([Text(")")])
                    .collect(),
                N::Compare { comparator, left, right } => {
                    vec![Node(*left), Text(" "), Text(comparator.sign()), Text(" "), Node(*right)]
                }
                N::Between { subject, lower, upper } => {
                    vec![Node(*subject), Text(" BETWEEN "), Node(*lower), Text(" AND "), Node(*upper)]
                }
                N::In { subject, members } => [Node(*subject), Text(" IN (")]
                    .into_iter()
                    .chain(separated(members))
                    .chain([Text(")")])
                    .collect(),
                N::Not(inner) => vec![Text("NOT "), Node(*inner)],
                N::And(left, right) => vec![Node(*left), Text(" AND "), Node(*right)],
                N::Or(left, right) => vec![Node(*left), Text(" OR "), Node(*right)],
                N::Plus(left, right) => vec![Node(*left), Text(" + "), Node(*right)],
                N::Minus(left, right) => vec![Node(*left), Text(" - "), Node(*right)],
                N::Parentheses(inner) => vec![Text("("), Node(*inner), Text(")")],
            };
            pending.extend(parts.into_iter().rev());
        }
        Ok(())
    }
}
