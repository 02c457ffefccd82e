//! What an editor shows above a line without being asked: the request that serves a pattern and its price, and the price
//! of the whole file.

use super::Document;
use super::hover::{monthly_costs, units};
use super::outline::{NameKind, of_kind, symbols};
use crate::Span;
use crate::cost::{Cost, dollars};
use crate::model::Pattern;
use crate::plan::plan;
use crate::predict::typical::Footprints;

/// A line of text above a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Lens {
    pub span: Span,
    /// The pattern that it is about; else the whole file.
    pub pattern: Option<String>,
    pub text: String,
}

impl Document {
    /// That of the file first, then one for each pattern; empty while the text is no model.
    pub fn lenses(&self) -> Vec<Lens> {
        let (Some(model), Some(root)) = (&self.model, &self.root) else { return Vec::new() };
        let costs = monthly_costs(model);
        let footprints = Footprints::new(model);
        let about = |pattern: &Pattern| {
            if let Some(external) = &pattern.external {
                return format!("served by {}", external.value);
            }
            let plan = plan(model, pattern);
            let served = format!("{} on {}", plan.operation(), plan.source(model));
            let units = units(model, &footprints, pattern, &plan);
            let dollars = costs.as_ref().and_then(|costs| monthly(costs, pattern));
            [vec![served], units, dollars.into_iter().collect()].concat().join(" · ")
        };
        let whole = costs.as_ref().map(|costs| {
            let text = match costs.declared.total() {
                Some(total) => format!("{} a month as declared", dollars(total)),
                None => "a price is not known: model cost says which".to_owned(),
            };
            Lens { span: model.name.span, pattern: None, text }
        });
        let names = symbols(root);
        let patterns = of_kind(&names, NameKind::Pattern).into_iter().filter_map(|name| {
            let text = about(model.pattern_named(&name.name)?);
            Some(Lens { span: name.name_span, pattern: Some(name.name.clone()), text })
        });
        whole.into_iter().chain(patterns).collect()
    }
}

/// Only of patterns whose rate is known.
fn monthly(costs: &Cost, pattern: &Pattern) -> Option<String> {
    pattern.rate.as_ref()?;
    let cost = costs.patterns.iter().find(|cost| cost.pattern == pattern.id.value)?;
    Some(format!("{} a month", dollars(cost.monthly)))
}
