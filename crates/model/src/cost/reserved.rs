//! Reserved: blocks of 100 provisioned units, paid for over a term whether they are used or not.
//!
//! A block is worth it if it is used in enough of the hours; the number of blocks is chosen that makes the total
//! cheapest. Only the Standard class can be reserved, and replicated writes can't.

use serde::Serialize;

use super::line::{Line, sum};
use super::provisioned::{Supply, unit_hours};
use crate::demand::UnitKind;
use crate::facts::{ClassPrices, Facts, ReservationTerm};
use crate::traffic::HOURS;

/// One kind of capacity, with its best number of blocks.
#[derive(Clone, Debug, Serialize)]
pub struct Reservation {
    pub unit: &'static str,
    pub blocks: u64,
    /// The share of hours in which a block must be used to be worth its price.
    pub break_even: f64,
    pub lines: Vec<Line>,
}

/// The reservation for all capacity of one kind in the Region.
pub fn reservation(
    supplies: &[&Supply],
    kind: UnitKind,
    term: &ReservationTerm,
    prices: &ClassPrices,
    facts: &Facts,
) -> Reservation {
    let mut hours = [0; HOURS];
    for supply in supplies.iter().filter(|supply| supply.kind == kind) {
        for (sum, units) in hours.iter_mut().zip(supply.provisioned.hours) {
            *sum += units;
        }
    }
    let offer = Offer::new(kind, term, prices, facts);
    let most = hours.iter().max().copied().unwrap_or(0).div_ceil(offer.block);
    let price = |blocks: u64| sum(&offer.lines(blocks, &hours));
    let blocks = lowest(most, price);
    Reservation {
        unit: offer.unit,
        blocks,
        break_even: offer.block_hour / (offer.block as f64 * offer.unit_hour),
        lines: offer.lines(blocks, &hours),
    }
}

/// The minimum, between 0 and `most`, of a price that first falls and then rises.
fn lowest(most: u64, price: impl Fn(u64) -> f64) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        match price(middle) <= price(middle + 1) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

struct Offer<'f> {
    unit: &'static str,
    block: u64,
    upfront: f64,
    hour: f64,
    months: f64,
    block_hour: f64,
    unit_hour: f64,
    facts: &'f Facts,
}

impl<'f> Offer<'f> {
    fn new(kind: UnitKind, term: &ReservationTerm, prices: &ClassPrices, facts: &'f Facts) -> Offer<'f> {
        let (unit, upfront, hour, unit_hour) = match kind {
            UnitKind::Read => ("RCU", term.read_upfront, term.read_hour, prices.read_unit_hour),
            UnitKind::Write => ("WCU", term.write_upfront, term.write_hour, prices.write_unit_hour),
        };
        let months = term.years * 12.0;
        Offer {
            unit,
            block: (facts.limits.reserved_block_units as u64).max(1),
            upfront,
            hour,
            months,
            block_hour: upfront / (months * facts.month_hours) + hour,
            unit_hour,
            facts,
        }
    }

    fn lines(&self, blocks: u64, hours: &[u64; HOURS]) -> Vec<Line> {
        let mut lines = Vec::new();
        if blocks > 0 {
            let (count, unit) = (blocks as f64, format!("blocks of {} {}", self.block, self.unit));
            let upfront = Line::new(format!("{} reserved, upfront", self.unit)).times(count, &unit);
            lines.push(upfront.times(self.upfront, "$").over(self.months, "months"));
            let hourly = Line::new(format!("{} reserved, per hour", self.unit)).times(count, &unit);
            lines.push(hourly.times(self.facts.month_hours, "h").times(self.hour, "$"));
        }
        let beyond: u64 = hours.iter().map(|units| units.saturating_sub(blocks * self.block)).sum();
        if beyond > 0 {
            let what = format!("{} beyond what is reserved", self.unit);
            lines.push(unit_hours(&what, beyond as f64, self.unit, self.facts).times(self.unit_hour, "$"));
        }
        lines
    }
}
