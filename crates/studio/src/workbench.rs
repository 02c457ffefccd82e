//! `model/…`: the workbench's commands, each with what its command prints as JSON.

use http::StatusCode;
use model::cost::{CostSettings, UnknownRegion, cost};
use model::demand::{self, UnitKind};
use model::design::{Indexes, Options, design};
use model::facts::Facts;
use model::heat::{forecasts, heat};
use model::plan::{Plan, plan};
use model::predict::typical::Footprints;
use model::{Model, RuleId, Source, check, diagnostic, file, migrate};
use model_format as format;
use serde_json::{Value, json};

use crate::door::Fault;
use crate::legend;

const HEADROOM: f64 = 0.7;
/// Write units each second that the jobs of a migration may use, unless the page says otherwise.
const JOB_RATE: f64 = 500.0;

/// No item has more.
const ITEM_BYTES_MAX: u64 = 400 * 1024;

/// Commands that are done within a request's time on any thread; the others keep a core busy.
pub fn is_quick(command: &str) -> bool {
    !matches!(command, "prove" | "design" | "diff" | "curve")
}

pub fn run(command: &str, input: &Value) -> Result<Value, Fault> {
    match command {
        "check" => Ok(checked(&source(input)?)),
        "tables" => with_model(input, |_, model| Ok(tables(model))),
        "plan" => with_model(input, |source, model| Ok(legend::legend(source, model))),
        "cost" => with_model(input, |_, model| costs(&scaled(model, &input["scale"]), input)),
        "curve" => with_model(input, |_, model| curve(model, input)),
        "heat" => with_model(input, |_, model| Ok(heats(model))),
        "code" => with_model(input, |_, model| Ok(code(model, input))),
        "prove" => with_model(input, |source, model| Ok(proof::prove(model).json(source))),
        "design" => designed(&source(input)?, input),
        "diff" => diff(input),
        "export" => with_model(input, |_, model| exported(model, input)),
        "import" => imported(input),
        "explain" => explained(input),
        "schema" => Ok(model::schema::schema()),
        _ => Err(Fault::unknown_command(command)),
    }
}

fn source(input: &Value) -> Result<Source, Fault> {
    source_named(input, "text")
}

fn source_named(input: &Value, member: &str) -> Result<Source, Fault> {
    let text =
        input[member].as_str().ok_or_else(|| Fault::bad(format!("`{member}` holds the file's text")))?;
    Ok(Source::new(input["name"].as_str().unwrap_or("model.yaml"), text))
}

fn with_model(
    input: &Value,
    act: impl FnOnce(&Source, &Model) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    let source = source(input)?;
    let model = read(&source)?;
    act(&source, &model)
}

/// The model, or what keeps the text from being one.
pub fn read(source: &Source) -> Result<Model, Fault> {
    let file::Reading { model, diagnostics } = file::read(source);
    model.ok_or_else(|| unreadable(source, &diagnostics))
}

fn unreadable(source: &Source, diagnostics: &[model::Diagnostic]) -> Fault {
    let mut body = diagnostic::json(source, diagnostics);
    body["message"] = json!("This is no model yet: its findings say why.");
    Fault { status: StatusCode::UNPROCESSABLE_ENTITY, body }
}

fn checked(source: &Source) -> Value {
    let file::Reading { model, mut diagnostics } = file::read(source);
    diagnostics.extend(model.iter().flat_map(check::check));
    diagnostic::sort(&mut diagnostics);
    let mut checked = diagnostic::json(source, &diagnostics);
    checked["readable"] = json!(model.is_some());
    checked
}

/// What makes the tables of a model, where there are none yet.
fn tables(model: &Model) -> Value {
    let made = model.tables.iter().filter_map(|table| proof::apply::changes(table, None, false));
    let requests = made.map(|made| {
        let requests = made.changes.iter();
        let requests = requests.map(|one| json!({ "operation": one.operation, "input": one.input }));
        Value::Array(requests.collect())
    });
    json!({ "tables": requests.collect::<Vec<_>>() })
}

fn plans(model: &Model) -> Vec<Plan> {
    model.patterns.iter().map(|pattern| plan(model, pattern)).collect()
}

fn costs(model: &Model, input: &Value) -> Result<Value, Fault> {
    let settings = CostSettings { region: input["region"].as_str().map(str::to_owned), stream_readers: 0 };
    let costs = cost(model, &plans(model), &Facts::embedded(), &settings).map_err(unknown_region)?;
    let mut printed = json!(costs);
    // What the command's table shows and the sums leave to the reader.
    for (way, printed) in costs.ways.iter().zip(printed["ways"].as_array_mut().into_iter().flatten()) {
        printed["total"] = json!(way.bill.total());
    }
    printed["total"] = json!(costs.declared.total());
    Ok(printed)
}

/// Points of a curve of prices.
const CURVE_POINTS_MAX: usize = 50;

/// The price of every way to pay, at each of the `factors` by which all rates are multiplied.
fn curve(model: &Model, input: &Value) -> Result<Value, Fault> {
    let factors = input["factors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let points = factors.iter().take(CURVE_POINTS_MAX).map(|factor| {
        let mut scale = json!({ "size": input["scale"]["size"], "count": input["scale"]["count"] });
        scale["rate"] = factor.clone();
        let priced = costs(&scaled(model, &scale), input)?;
        let ways = priced["ways"].as_array().into_iter().flatten();
        let ways =
            ways.map(|way| json!({ "mode": way["mode"], "class": way["class"], "total": way["total"] }));
        Ok(json!({ "factor": factor, "ways": ways.collect::<Vec<_>>() }))
    });
    Ok(json!({ "points": points.collect::<Result<Vec<_>, Fault>>()? }))
}

/// The model with its rates, the sizes of its items and their number multiplied.
fn scaled(model: &Model, scale: &Value) -> Model {
    let factor = |name: &str| scale[name].as_f64().unwrap_or(1.0).clamp(0.001, 1000.0);
    let (rates, sizes, counts) = (factor("rate"), factor("size"), factor("count"));
    let mut model = model.clone();
    for rate in model.patterns.iter_mut().filter_map(|pattern| pattern.rate.as_mut()) {
        rate.value.average *= rates;
        rate.value.peak = rate.value.peak.map(|peak| peak * rates);
    }
    for entity in &mut model.entities {
        if let Some(size) = &mut entity.size {
            size.value.typical = multiplied(size.value.typical, sizes);
            size.value.max = size.value.max.map(|most| multiplied(most, sizes));
        }
        // What is counted for each parent grows with the parents.
        if let Some(count) = entity.count.as_mut().filter(|count| count.value.per.is_none()) {
            count.value.typical *= counts;
            count.value.max = count.value.max.map(|most| most * counts);
        }
    }
    model
}

fn multiplied(bytes: u64, factor: f64) -> u64 {
    ((bytes as f64 * factor) as u64).clamp(1, ITEM_BYTES_MAX)
}

fn unknown_region(UnknownRegion { region, known }: UnknownRegion) -> Fault {
    Fault::bad(format!("There are no prices for {region}; there are for {}.", known.join(", ")))
}

fn heats(model: &Model) -> Value {
    let limits = Facts::embedded().limits;
    let plans = plans(model);
    let heats = heat(model, &plans, &limits, HEADROOM);
    let uses = demand::uses(model, &plans, &Footprints::new(model));
    let mut printed = json!({ "headroom": HEADROOM, "heat": heats, "forecasts": forecasts(model, &limits) });
    // All keys together, so that the page knows what the busiest ones leave for the others.
    for (heat, printed) in heats.iter().zip(printed["heat"].as_array_mut().into_iter().flatten()) {
        let resource = (heat.table_id, heat.index_id);
        let all = |kind: UnitKind| demand::demand(&uses, resource, kind);
        printed["demand"] = json!({ "read": all(UnitKind::Read), "write": all(UnitKind::Write) });
    }
    printed
}

fn code(model: &Model, input: &Value) -> Value {
    let examples = model_code::examples(model, input["pattern"].as_str());
    let mut code = json!({ "requests": model_code::json(model, &examples) });
    for language in model_code::Language::ALL {
        code[language.name()] = json!(model_code::code(model, &examples, language));
    }
    code
}

fn designed(source: &Source, input: &Value) -> Result<Value, Fault> {
    let model = read(source)?;
    let indexes = if input["indexes"] == "named" { Indexes::Named } else { Indexes::Overloaded };
    let headroom =
        input["headroom"].as_f64().filter(|share| (0.01..=1.0).contains(share)).unwrap_or(HEADROOM);
    let options = Options { indexes, headroom, ..Options::default() };
    let designed =
        design(&model, &Facts::embedded(), &options).map_err(|problems| unreadable(source, &problems))?;
    Ok(json!({
        "model": designed.text,
        "price": designed.price,
        "total": designed.price.total(),
        "given": designed.given,
        "givenTotal": designed.given.as_ref().map(|given| given.total()),
        "choices": designed.choices,
        "next_best": designed.next_best,
        "front": designed.front,
        "notes": designed.notes.iter().chain(&designed.hot).collect::<Vec<_>>(),
        "states": designed.explored,
        "complete": designed.complete,
    }))
}

fn diff(input: &Value) -> Result<Value, Fault> {
    let (old, new) = (read(&source_named(input, "old")?)?, read(&source_named(input, "new")?)?);
    let rate = input["rate"].as_f64().filter(|rate| *rate >= 1.0).unwrap_or(JOB_RATE);
    let settings = migrate::MigrationSettings { region: input["region"].as_str().map(str::to_owned), rate };
    let migration = migrate::migrate(&old, &new, &Facts::embedded(), &settings).map_err(unknown_region)?;
    let mut printed = json!(migration);
    printed["seconds"] = json!(migration.seconds());
    printed["cost"] = json!(migration.cost());
    printed["text"] = json!(migration.text(false));
    if input["rehearse"] == true && migration.obstacles.is_empty() {
        let rehearsal = proof::rehearse(&migration);
        printed["rehearsal"] = rehearsal.json();
        printed["rehearsed"] = json!(rehearsal.succeeded());
    }
    Ok(printed)
}

/// Another tool's file as a model. Its format is recognised unless `from` names it.
fn imported(input: &Value) -> Result<Value, Fault> {
    let Source { text, .. } = source(input)?;
    let unknown = || Fault::bad("The format can't be recognised from the text: name it in `from`.");
    let from = match input["from"].as_str() {
        Some(name) => format_named(name)?,
        None => format::detect(&text).ok_or_else(unknown)?,
    };
    let import = format::import(from, &text).map_err(|error| Fault::bad(error.0))?;
    Ok(json!({ "format": from.name, "model": import.text, "notes": import.notes.0 }))
}

fn format_named(name: &str) -> Result<&'static format::Format, Fault> {
    let known = || format::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    format::format(name)
        .ok_or_else(|| Fault::bad(format!("There is no format {name}; there are {}.", known())))
}

fn exported(model: &Model, input: &Value) -> Result<Value, Fault> {
    let to = format_named(input["to"].as_str().unwrap_or_default())?;
    let export = format::export(to, model).map_err(|error| Fault::bad(error.0))?;
    Ok(json!({ "format": to.name, "text": export.text, "notes": export.notes.0 }))
}

fn explained(input: &Value) -> Result<Value, Fault> {
    let name = input["rule"].as_str().unwrap_or_default();
    let id: RuleId = name.parse().map_err(|()| Fault::bad("A rule is written as in R14."))?;
    let rule = check::rule(id).ok_or_else(|| Fault::bad(format!("There is no rule {name}.")))?;
    Ok(
        json!({ "rule": rule.id.to_string(), "level": rule.level.name(), "title": rule.title, "page": rule.page }),
    )
}
