//! Whose figures they are: a [`Subject`] has rows of its own, and in each of its minutes several sets of cells, one for
//! each [`CellSet`]. Both together are the [`Dimensions`] of a metric, as CloudWatch names them.

use capacity::metric::Metric;

/// A metric with its dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId {
    pub metric: Metric,
    pub dimensions: Dimensions,
}

/// The dimensions of a metric. None at all are those of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dimensions {
    /// `TableName`.
    pub table: Option<String>,
    /// `GlobalSecondaryIndexName`.
    pub index: Option<String>,
    /// `Operation`.
    pub operation: Option<String>,
    /// `StreamLabel`.
    pub stream_label: Option<String>,
    /// `ReceivingRegion`.
    pub receiving_region: Option<String>,
    /// `DelegatedOperation`.
    pub delegated_operation: Option<String>,
    /// `ClusterId`.
    pub cluster: Option<String>,
    /// `NodeId`.
    pub node: Option<String>,
}

/// CloudWatch's names of the members of [`Dimensions`], in their order.
const NAMES: [&str; 8] = [
    "TableName",
    "GlobalSecondaryIndexName",
    "Operation",
    "StreamLabel",
    "ReceivingRegion",
    "DelegatedOperation",
    "ClusterId",
    "NodeId",
];
/// The operation by which streams are read.
const GET_RECORDS: &str = "GetRecords";

impl Dimensions {
    /// As CloudWatch names them.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let members = [
            &self.table,
            &self.index,
            &self.operation,
            &self.stream_label,
            &self.receiving_region,
            &self.delegated_operation,
            &self.cluster,
            &self.node,
        ];
        NAMES.into_iter().zip(members).filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// The dimensions with these names and values; none if a name is not known or comes twice.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Dimensions> {
        let mut members: [Option<String>; NAMES.len()] = Default::default();
        for (name, value) in pairs {
            let member = &mut members[NAMES.iter().position(|known| *known == name)?];
            if member.replace(value.to_owned()).is_some() {
                return None;
            }
        }
        let [table, index, operation, stream_label, receiving_region, delegated_operation, cluster, node] =
            members;
        Some(Dimensions {
            table,
            index,
            operation,
            stream_label,
            receiving_region,
            delegated_operation,
            cluster,
            node,
        })
    }

    /// The dimensions of a set of cells.
    pub(crate) fn of(subject: Subject<'_>, set: CellSet<'_>) -> Dimensions {
        let text = |text: &str| Some(text.to_owned());
        let mut dimensions = Dimensions::default();
        match subject {
            Subject::Account => return dimensions,
            Subject::Table(table) => dimensions.table = text(table),
            Subject::Cluster(cluster) => dimensions.cluster = text(cluster),
        }
        match set {
            CellSet::Whole => {}
            CellSet::Index(index) => dimensions.index = text(index),
            CellSet::Operation(operation) => dimensions.operation = text(operation),
            CellSet::Stream(label) => {
                (dimensions.operation, dimensions.stream_label) = (text(GET_RECORDS), text(label));
            }
            CellSet::Replica(region) => dimensions.receiving_region = text(region),
            CellSet::Delegated(operation) => dimensions.delegated_operation = text(operation),
            CellSet::Node(node) => dimensions.node = text(node),
        }
        dimensions
    }

    /// The set of cells that has exactly these dimensions; none if there can't be one.
    pub(crate) fn cells(&self) -> Option<(Subject<'_>, CellSet<'_>)> {
        let subject = match (&self.table, &self.cluster) {
            (Some(table), _) => Subject::Table(table),
            (None, Some(cluster)) => Subject::Cluster(cluster),
            (None, None) => Subject::Account,
        };
        let set = match self {
            Dimensions { node: Some(node), .. } => CellSet::Node(node),
            Dimensions { receiving_region: Some(region), .. } => CellSet::Replica(region),
            Dimensions { delegated_operation: Some(operation), .. } => CellSet::Delegated(operation),
            Dimensions { stream_label: Some(label), .. } => CellSet::Stream(label),
            Dimensions { operation: Some(operation), .. } => CellSet::Operation(operation),
            Dimensions { index: Some(index), .. } => CellSet::Index(index),
            _ => CellSet::Whole,
        };
        (Dimensions::of(subject, set) == *self).then_some((subject, set))
    }
}

/// Who has figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    Account,
    Table(&'a str),
    /// A cache in front of the tables.
    Cluster(&'a str),
}

/// No table has a name with a slash.
const CLUSTER: &str = "dax/";

impl<'a> Subject<'a> {
    /// The name under which its figures are stored.
    pub fn name(self) -> String {
        match self {
            Subject::Account => String::new(),
            Subject::Table(table) => table.to_owned(),
            Subject::Cluster(cluster) => format!("{CLUSTER}{cluster}"),
        }
    }

    /// The subject of a stored name.
    pub fn named(name: &'a str) -> Subject<'a> {
        match name.strip_prefix(CLUSTER) {
            Some(cluster) => Subject::Cluster(cluster),
            None if name.is_empty() => Subject::Account,
            None => Subject::Table(name),
        }
    }
}

/// Which figures of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellSet<'a> {
    /// Those of the subject itself.
    Whole,
    /// Those of a global index.
    Index(&'a str),
    Operation(&'a str),
    /// Those of a stream, by its label.
    Stream(&'a str),
    /// Those of a Region that changes are sent to.
    Replica(&'a str),
    /// Those of an operation that is done for a table on its own.
    Delegated(&'a str),
    /// Those of a node of a cluster.
    Node(&'a str),
}

impl<'a> CellSet<'a> {
    /// How it is stored: a kind and a name.
    fn parts(self) -> (&'static str, &'a str) {
        match self {
            CellSet::Whole => ("", ""),
            CellSet::Index(index) => ("i:", index),
            CellSet::Operation(operation) => ("o:", operation),
            CellSet::Stream(label) => ("s:", label),
            CellSet::Replica(region) => ("r:", region),
            CellSet::Delegated(operation) => ("d:", operation),
            CellSet::Node(node) => ("n:", node),
        }
    }

    /// The name under which it is stored.
    pub fn name(self) -> String {
        let (kind, name) = self.parts();
        format!("{kind}{name}")
    }

    /// Whether it is stored under this name.
    pub fn is_named(self, stored: &str) -> bool {
        let (kind, name) = self.parts();
        stored.strip_prefix(kind) == Some(name)
    }

    /// A name of another version of Lodestone is one of the subject itself.
    pub fn named(stored: &'a str) -> CellSet<'a> {
        match stored.split_at_checked(2) {
            Some(("i:", index)) => CellSet::Index(index),
            Some(("o:", operation)) => CellSet::Operation(operation),
            Some(("s:", label)) => CellSet::Stream(label),
            Some(("r:", region)) => CellSet::Replica(region),
            Some(("d:", operation)) => CellSet::Delegated(operation),
            Some(("n:", node)) => CellSet::Node(node),
            _ => CellSet::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETS: [CellSet<'_>; 7] = [
        CellSet::Whole,
        CellSet::Index("a"),
        CellSet::Operation("a"),
        CellSet::Stream("a"),
        CellSet::Replica("a"),
        CellSet::Delegated("a"),
        CellSet::Node("a"),
    ];

    #[test]
    fn a_set_is_known_by_its_stored_name_alone() {
        for set in SETS {
            assert_eq!(CellSet::named(&set.name()), set);
            for other in SETS {
                assert_eq!(set.is_named(&other.name()), set == other);
            }
        }
    }

    #[test]
    fn the_dimensions_of_a_set_lead_back_to_it() {
        for subject in [Subject::Table("t"), Subject::Cluster("c")] {
            assert_eq!(Subject::named(&subject.name()), subject);
            for set in SETS {
                let dimensions = Dimensions::of(subject, set);
                assert_eq!(dimensions.cells(), Some((subject, set)));
                let pairs: Vec<(&str, &str)> = dimensions.pairs().collect();
                assert_eq!(Dimensions::from_pairs(pairs), Some(dimensions.clone()));
            }
        }
        assert_eq!(Dimensions::default().cells(), Some((Subject::Account, CellSet::Whole)));
    }

    #[test]
    fn dimensions_that_no_set_has_find_nothing() {
        for pairs in [
            &[("GlobalSecondaryIndexName", "i")][..],
            &[("NodeId", "n")],
            &[("TableName", "t"), ("ClusterId", "c")],
            &[("TableName", "t"), ("StreamLabel", "s")],
            &[("TableName", "t"), ("StreamLabel", "s"), ("Operation", "Query")],
            &[("TableName", "t"), ("GlobalSecondaryIndexName", "i"), ("Operation", "Query")],
        ] {
            let dimensions = Dimensions::from_pairs(pairs.iter().copied()).unwrap();
            assert_eq!(dimensions.cells(), None, "{pairs:?}");
        }
        assert_eq!(Dimensions::from_pairs([("TableName", "t"), ("TableName", "t")]), None);
        assert_eq!(Dimensions::from_pairs([("Shard", "1")]), None);
    }
}
