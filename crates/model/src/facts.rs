//! Prices and limits of DynamoDB: dated, cited, for each Region, and replaceable.
//!
//! `facts/prices.json` is built in. A price that is not known is absent, never guessed: code that needs it
//! reports it as missing.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The built-in file.
pub const EMBEDDED: &str = include_str!("../facts/prices.json");

/// All prices and limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub about: String,
    /// The date of the figures.
    pub date: String,
    pub currency: String,
    pub month_hours: f64,
    pub gigabyte_bytes: f64,
    pub notes: Vec<String>,
    pub sources: BTreeMap<String, String>,
    pub limits: Limits,
    pub regions: BTreeMap<String, Region>,
}

/// DynamoDB's limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub as_of: String,
    pub sources: Vec<String>,
    /// What one partition, and so one partition key, sustains per second.
    pub partition_write_units: f64,
    pub partition_read_units: f64,
    pub item_bytes: f64,
    /// The limit for all items of one partition key in a table with local indexes.
    pub collection_bytes: f64,
    /// What storage adds for each item of a table and of each index to its own bytes.
    pub row_overhead_bytes: f64,
    pub reserved_block_units: f64,
    /// How long a transaction holds its items. AWS names no figure; this one is assumed.
    #[serde(default = "transaction_seconds")]
    pub transaction_seconds: f64,
}

/// Where a file of prices does not say it.
fn transaction_seconds() -> f64 {
    0.01
}

/// The prices of one Region.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    pub certainty: Certainty,
    pub as_of: String,
    pub sources: Vec<String>,
    #[serde(default)]
    pub note: Option<String>,
    pub standard: ClassPrices,
    #[serde(default)]
    pub infrequent_access: Option<ClassPrices>,
    #[serde(default)]
    pub reserved: Option<Reserved>,
    #[serde(default)]
    pub replicated: Option<Replicated>,
    #[serde(default)]
    pub pitr_gb_month: Option<f64>,
    #[serde(default)]
    pub backup_gb_month: Option<f64>,
    #[serde(default)]
    pub restore_gb: Option<f64>,
    #[serde(default)]
    pub stream_read_100k: Option<f64>,
    /// A million invocations of a Lambda function, without their duration.
    #[serde(default)]
    pub function_million: Option<f64>,
    /// The smallest node of DAX.
    #[serde(default)]
    pub dax: Option<DaxNode>,
}

impl Region {
    /// What a model can ask for and no price is known of.
    pub fn unknown(&self) -> Vec<&'static str> {
        let known = [
            ("Standard-IA", self.infrequent_access.is_some()),
            ("reserved capacity", self.reserved.is_some()),
            ("replicas", self.replicated.is_some()),
            ("point-in-time recovery", self.pitr_gb_month.is_some()),
            ("backups", self.backup_gb_month.is_some() && self.restore_gb.is_some()),
            ("readers of streams", self.stream_read_100k.is_some()),
            ("functions", self.function_million.is_some()),
            ("DAX", self.dax.is_some()),
        ];
        known.into_iter().filter(|(_, known)| !known).map(|(what, _)| what).collect()
    }
}

/// A node of a cache in front of the tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaxNode {
    pub node_type: String,
    pub hour: f64,
    pub memory_gb: f64,
    /// How many a cluster should have.
    pub nodes: f64,
}

/// How a price is known.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    Published,
    Derived,
}

/// The prices of one table class.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassPrices {
    /// A million write or read request units, on demand.
    pub write_million: f64,
    pub read_million: f64,
    /// One provisioned unit for an hour.
    pub write_unit_hour: f64,
    pub read_unit_hour: f64,
    pub storage_gb_month: f64,
}

/// The terms for which capacity can be reserved.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    pub one_year: ReservationTerm,
    pub three_years: ReservationTerm,
}

/// The prices of one block of reserved units: paid once, and each hour.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationTerm {
    pub years: f64,
    pub write_upfront: f64,
    pub write_hour: f64,
    pub read_upfront: f64,
    pub read_hour: f64,
}

/// Writes of a global table, in each of its Regions, and the way between them.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replicated {
    pub write_million: f64,
    pub write_unit_hour: f64,
    pub transfer_gb: f64,
}

impl Facts {
    /// The built-in facts.
    pub fn embedded() -> Facts {
        Facts::parse(EMBEDDED).unwrap_or_else(|error| unreachable!("the facts built in: {error}"))
    }

    pub fn parse(text: &str) -> Result<Facts, String> {
        let facts: Facts = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let sources = facts.regions.values().flat_map(|region| &region.sources).chain(&facts.limits.sources);
        for source in sources {
            if !facts.sources.contains_key(source) {
                return Err(format!("`{source}` is cited, but not among the sources"));
            }
        }
        if !(facts.month_hours > 0.0 && facts.gigabyte_bytes > 0.0) {
            return Err("a month and a gigabyte must be greater than 0".to_owned());
        }
        facts.limits.check()?;
        Ok(facts)
    }

    pub fn month_seconds(&self) -> f64 {
        self.month_hours * 3_600.0
    }
}

impl Limits {
    fn check(&self) -> Result<(), String> {
        let all = [
            self.partition_write_units,
            self.partition_read_units,
            self.item_bytes,
            self.collection_bytes,
            self.reserved_block_units,
            self.transaction_seconds,
        ];
        let sound = all.iter().all(|limit| *limit > 0.0) && self.row_overhead_bytes >= 0.0;
        if sound { Ok(()) } else { Err("a limit must be greater than 0".to_owned()) }
    }
}

impl ReservationTerm {
    /// The price of one block for an hour, its share of the upfront payment included.
    pub fn write_block_hour(&self, month_hours: f64) -> f64 {
        self.write_upfront / (self.years * 12.0 * month_hours) + self.write_hour
    }

    pub fn read_block_hour(&self, month_hours: f64) -> f64 {
        self.read_upfront / (self.years * 12.0 * month_hours) + self.read_hour
    }
}

impl ClassPrices {
    /// The utilisation of provisioned writes at which they cost the same as on demand.
    pub fn write_break_even(&self) -> f64 {
        self.write_unit_hour / (self.write_million / 1e6 * 3_600.0)
    }

    pub fn read_break_even(&self) -> f64 {
        self.read_unit_hour / (self.read_million / 1e6 * 3_600.0)
    }
}
