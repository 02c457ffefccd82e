//! One text as a model file: every problem of it can be shown, what can be read can be checked, planned, heated,
//! priced and designed, and what is written of it is read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::cost::{CostSettings, cost};
use model::design::{Options, design};
use model::facts::Facts;
use model::file::{self, Comments, Reading};
use model::heat::{DEFAULT_HEADROOM, forecasts, heat};
use model::plan::{Plan, plan};
use model::{Model, Source, check, diagnostic};

/// Enough to get anywhere in the search, and to be done in a moment.
const STATES_MAX: u64 = 50;
/// Designs of more patterns are bounded too, but take longer than an input should.
const DESIGNED_MAX: usize = 6;

fuzz_target!(|text: &str| {
    let source = Source::new("fuzz.yaml", text);
    let Reading { model, diagnostics } = file::read(&source);
    diagnostic::text(&source, &diagnostics, false);
    let Some(model) = model else {
        assert!(diagnostic::has_errors(&diagnostics), "no model, and no reason");
        return;
    };
    diagnostic::text(&source, &check::check(&model), false);
    predicted(&model);
    written(&model);
    if model.patterns.len() + model.entities.len() <= DESIGNED_MAX {
        let options = Options { states_max: STATES_MAX, ..Options::default() };
        let _ = design(&model, &Facts::embedded(), &options);
    }
});

fn predicted(model: &Model) {
    let facts = Facts::embedded();
    let plans: Vec<Plan> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    heat(model, &plans, &facts.limits, DEFAULT_HEADROOM);
    forecasts(model, &facts.limits);
    let _ = cost(model, &plans, &facts, &CostSettings::default());
}

/// A model is read again from its own text, and that text is the same again.
fn written(model: &Model) {
    let text = file::write(model, &Comments::new());
    let again = file::read(&Source::new("written.yaml", text.as_str()));
    let Some(again_model) = again.model else { panic!("{:?} in\n{text}", again.diagnostics) };
    assert_eq!(file::write(&again_model, &Comments::new()), text);
}
