//! Document paths with their names resolved, and sets of paths that must neither overlap nor conflict.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use item::{ItemRef, ValueRef, View};

use crate::error::{Fault, Faults};

/// Where a value is in an item: an attribute, then steps into maps and lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    pub attribute: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Name(String),
    Index(u32),
}

impl Path {
    /// A whole attribute.
    pub fn of_attribute(name: impl Into<String>) -> Path {
        Path { attribute: name.into(), steps: Vec::new() }
    }

    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }

    /// How many elements it has: 1 for an attribute.
    pub fn depth(&self) -> usize {
        1 + self.steps.len()
    }

    /// The value at this path, if there is one.
    pub fn find<'i>(&self, item: ItemRef<'i>) -> Option<ValueRef<'i>> {
        let mut value = item.get(&self.attribute)?;
        for step in &self.steps {
            value = match (step, value.view()) {
                (Step::Name(name), View::M(map)) => map.get(name)?,
                (Step::Index(index), View::L(list)) => list.get(*index as usize)?,
                _ => return None,
            };
        }
        Some(value)
    }
}

/// As DynamoDB's messages show a path: `[a, b, [0]]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.attribute)?;
        for step in &self.steps {
            match step {
                Step::Name(name) => write!(f, ", {name}")?,
                Step::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// Several paths as one tree, by their first elements. A leaf holds the index of its path in the list it was made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTree {
    pub attributes: BTreeMap<String, Branch>,
}

#[derive(Clone, Debug)]
pub(crate) enum Branch {
    Leaf(usize),
    Map(BTreeMap<String, Branch>),
    List(BTreeMap<u32, Branch>),
}

impl PathTree {
    /// Paths that overlap (one equals or contains another) or conflict (they want a map and a list in one place)
    /// are reported; the tree then holds only those that agree.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p Path>, faults: &mut Faults) -> PathTree {
        let mut tree = PathTree::default();
        let mut known: Vec<&Path> = Vec::new();
        for path in paths {
            if let Err(clash) = tree.insert(path, known.len()) {
                let one = |place: usize| known[place].clone();
                faults.report(match clash {
                    Clash::Overlap(place) => Fault::Overlap { one: one(place), two: path.clone() },
                    Clash::Conflict(place) => Fault::Conflict { one: one(place), two: path.clone() },
                });
            }
            known.push(path);
        }
        tree
    }

    fn insert(&mut self, path: &Path, place: usize) -> Result<(), Clash> {
        insert_at(self.attributes.entry(path.attribute.clone()), &path.steps, place)
    }
}

fn insert_at<K: Ord>(entry: Entry<'_, K, Branch>, steps: &[Step], place: usize) -> Result<(), Clash> {
    match entry {
        Entry::Vacant(vacant) => {
            vacant.insert(Branch::new(steps, place));
            Ok(())
        }
        Entry::Occupied(occupied) => match (occupied.into_mut(), steps) {
            (Branch::Leaf(earlier), _) => Err(Clash::Overlap(*earlier)),
            (branch, []) => Err(Clash::Overlap(branch.first())),
            (Branch::Map(map), [Step::Name(name), rest @ ..]) => {
                insert_at(map.entry(name.clone()), rest, place)
            }
            (Branch::List(list), [Step::Index(index), rest @ ..]) => {
                insert_at(list.entry(*index), rest, place)
            }
            (branch, _) => Err(Clash::Conflict(branch.first())),
        },
    }
}

enum Clash {
    Overlap(usize),
    Conflict(usize),
}

impl Branch {
    /// A branch that holds only the path with these remaining steps.
    fn new(steps: &[Step], place: usize) -> Branch {
        steps.iter().rev().fold(Branch::Leaf(place), |inner, step| match step {
            Step::Name(name) => Branch::Map(BTreeMap::from([(name.clone(), inner)])),
            Step::Index(index) => Branch::List(BTreeMap::from([(*index, inner)])),
        })
    }

    /// The earliest path of the branch. A branch is at most as deep as a path: 32.
    fn first(&self) -> usize {
        match self {
            Branch::Leaf(place) => *place,
            Branch::Map(map) => map.values().map(Branch::first).min().unwrap_or_default(),
            Branch::List(list) => list.values().map(Branch::first).min().unwrap_or_default(),
        }
    }
}
