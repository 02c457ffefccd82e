//! What the units of a replay cost on AWS: on demand, in the table class Standard.

use model::cost::DEFAULT_REGION;
use model::demand::UnitKind;
use model::facts::{ClassPrices, Facts};

/// The prices of one Region.
#[derive(Debug)]
pub struct UnitPrices {
    pub region: String,
    prices: ClassPrices,
}

impl UnitPrices {
    /// Those of a Region, by default of us-east-1.
    pub fn of_region(region: Option<&str>) -> Result<UnitPrices, String> {
        let region = region.unwrap_or(DEFAULT_REGION);
        let facts = Facts::embedded();
        let Some(known) = facts.regions.get(region) else {
            let known: Vec<&str> = facts.regions.keys().map(String::as_str).collect();
            return Err(format!("there are no prices for {region}; there are for {}", known.join(", ")));
        };
        Ok(UnitPrices { region: region.to_owned(), prices: known.standard })
    }

    pub fn dollars(&self, kind: UnitKind, units: f64) -> f64 {
        let million = match kind {
            UnitKind::Read => self.prices.read_million,
            UnitKind::Write => self.prices.write_million,
        };
        units * million / 1e6
    }
}
