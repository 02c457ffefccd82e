//! Tables, their settings and their indexes.

use item::Type;

use super::entity::SampleRow;
use super::{IndexId, quantity::Size};
use crate::{Span, Spanned};

/// A table with its settings and indexes.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Spanned<String>,
    pub span: Span,
    /// `None` in a model whose keys have not been designed yet.
    pub key: Option<KeySchema>,
    pub billing: Spanned<Billing>,
    pub throughput: Throughput,
    pub class: TableClass,
    pub ttl: Option<Spanned<String>>,
    pub stream: Option<Spanned<StreamView>>,
    pub pitr: Option<Spanned<bool>>,
    pub deletion_protection: Option<Spanned<bool>>,
    pub encryption: Encryption,
    /// The other Regions of a global table.
    pub replicas: Vec<Spanned<String>>,
    pub owner: Option<Spanned<String>>,
    pub tags: Vec<(String, String)>,
    pub indexes: Vec<Index>,
    /// Literal rows, keys included.
    pub samples: Vec<SampleRow>,
}

/// The key attributes of a table or index.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySchema {
    /// One for a table or local index; up to four for a global index.
    pub partition: Vec<KeyAttribute>,
    /// None or one for a table; up to four for a global index.
    pub sort: Vec<KeyAttribute>,
}

/// A key attribute and its type.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyAttribute {
    pub name: String,
    /// `S`, `N` or `B`.
    pub kind: Type,
    pub span: Span,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub struct Index {
    pub name: Spanned<String>,
    /// Where it is declared; if it is not, where an entity first names it.
    pub span: Span,
    pub kind: IndexKind,
    pub key: KeySchema,
    pub projection: Spanned<Projection>,
    pub throughput: Throughput,
    /// The size of the index's items, if it was measured.
    pub size: Option<Spanned<Size>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    Global,
    Local,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    All,
    Keys,
    Include(Vec<Spanned<String>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    OnDemand,
    Provisioned,
}

/// Read and write capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throughput {
    pub read: Option<Spanned<Capacity>>,
    pub write: Option<Spanned<Capacity>>,
}

/// Provisioned units, how they scale, or the maximum for on-demand (`max` alone).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    pub units: Option<u64>,
    pub min: Option<u64>,
    pub max: Option<u64>,
    /// The target utilisation of auto scaling, between 0 and 1.
    pub target: Option<f64>,
    pub scale_in_seconds: Option<u64>,
    pub scale_out_seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableClass {
    Standard,
    InfrequentAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamView {
    Keys,
    New,
    Old,
    NewAndOld,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    AwsOwned,
    AwsManaged,
    CustomerManaged,
}

impl Table {
    #[expect(clippy::should_implement_trait, reason = "`table.index(id)` reads as what it is")]
    pub fn index(&self, id: IndexId) -> &Index {
        &self.indexes[id.0]
    }

    pub fn index_named(&self, name: &str) -> Option<IndexId> {
        self.indexes.iter().position(|index| index.name.value == name).map(IndexId)
    }

    pub fn index_ids(&self) -> impl Iterator<Item = IndexId> + use<> {
        (0..self.indexes.len()).map(IndexId)
    }

    pub fn global_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| index.kind == IndexKind::Global)
    }
}

impl KeySchema {
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn names(&self, attribute: &str) -> bool {
        self.attributes().any(|key| key.name == attribute)
    }
}

impl Billing {
    pub fn name(self) -> &'static str {
        match self {
            Billing::OnDemand => "on-demand",
            Billing::Provisioned => "provisioned",
        }
    }
}

impl StreamView {
    /// The name in the API.
    pub fn api_name(self) -> &'static str {
        match self {
            StreamView::Keys => "KEYS_ONLY",
            StreamView::New => "NEW_IMAGE",
            StreamView::Old => "OLD_IMAGE",
            StreamView::NewAndOld => "NEW_AND_OLD_IMAGES",
        }
    }
}
