//! The prices of one Region.

use super::bill::prices;
use super::{DEFAULT_REGION, UnknownRegion};
use crate::Model;
use crate::facts::{ClassPrices, Facts, Region};
use crate::model::TableClass;

/// A Region and its prices.
pub struct Prices<'f> {
    pub facts: &'f Facts,
    pub region_name: String,
    pub region: &'f Region,
}

impl<'f> Prices<'f> {
    /// The prices of `region`, or of the Region that the model names.
    pub fn of(model: &Model, facts: &'f Facts, region: Option<&str>) -> Result<Prices<'f>, UnknownRegion> {
        let of_model = model.region.as_ref().map(|region| region.value.as_str());
        let name = region.or(of_model).unwrap_or(DEFAULT_REGION).to_owned();
        match facts.regions.get(&name) {
            Some(region) => Ok(Prices { facts, region_name: name, region }),
            None => Err(UnknownRegion { region: name, known: facts.regions.keys().cloned().collect() }),
        }
    }

    /// The prices of a table class, if they are known.
    pub fn class(&self, class: TableClass) -> Option<&'f ClassPrices> {
        prices(self.region, class)
    }

    /// The same, or those of Standard: for estimates that say they are rough.
    pub fn class_or_standard(&self, class: TableClass) -> &'f ClassPrices {
        self.class(class).unwrap_or(&self.region.standard)
    }
}
