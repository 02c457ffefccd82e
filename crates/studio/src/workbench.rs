//! `model/…`: the workbench's commands, each with what its command prints as JSON.

use http::StatusCode;
use model::cost::{Settings, UnknownRegion, cost};
use model::design::{Indexes, Options, design};
use model::facts::Facts;
use model::heat::{forecasts, heat};
use model::plan::{Plan, plan};
use model::{Model, RuleId, Source, check, diagnostic, file, format, migrate};
use serde_json::{Value, json};

use crate::door::Fault;
use crate::legend;

const HEADROOM: f64 = 0.7;
/// Write units each second that the jobs of a migration may use, unless the page says otherwise.
const JOB_RATE: f64 = 500.0;

/// Commands that are done within a request's time on any thread; the others keep a core busy.
pub fn is_quick(command: &str) -> bool {
    !matches!(command, "prove" | "design" | "diff")
}

pub fn run(command: &str, input: &Value) -> Result<Value, Fault> {
    match command {
        "check" => Ok(checked(&source(input)?)),
        "plan" => with_model(input, |source, model| Ok(legend::legend(source, model))),
        "cost" => with_model(input, |_, model| costs(model, input)),
        "heat" => with_model(input, |_, model| Ok(heats(model))),
        "code" => with_model(input, |_, model| Ok(code(model, input))),
        "prove" => with_model(input, |source, model| Ok(proof::prove(model).json(source))),
        "design" => designed(&source(input)?, input),
        "diff" => diff(input),
        "export" => with_model(input, |_, model| exported(model, input)),
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

fn plans(model: &Model) -> Vec<Plan> {
    model.patterns.iter().map(|pattern| plan(model, pattern)).collect()
}

fn costs(model: &Model, input: &Value) -> Result<Value, Fault> {
    let settings = Settings { region: input["region"].as_str().map(str::to_owned), stream_readers: 0 };
    let costs = cost(model, &plans(model), &Facts::embedded(), &settings).map_err(unknown_region)?;
    let mut printed = json!(costs);
    // What the command's table shows and the sums leave to the reader.
    for (way, printed) in costs.ways.iter().zip(printed["ways"].as_array_mut().into_iter().flatten()) {
        printed["total"] = json!(way.bill.total());
    }
    printed["total"] = json!(costs.declared.total());
    Ok(printed)
}

fn unknown_region(UnknownRegion { region, known }: UnknownRegion) -> Fault {
    Fault::bad(format!("There are no prices for {region}; there are for {}.", known.join(", ")))
}

fn heats(model: &Model) -> Value {
    let limits = Facts::embedded().limits;
    let heats = heat(model, &plans(model), &limits, HEADROOM);
    json!({ "headroom": HEADROOM, "heat": heats, "forecasts": forecasts(model, &limits) })
}

fn code(model: &Model, input: &Value) -> Value {
    let examples = model::code::examples(model, input["pattern"].as_str());
    let mut code = json!({ "requests": model::code::json(model, &examples) });
    for language in model::code::Language::ALL {
        code[language.name()] = json!(model::code::code(model, &examples, language));
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
        "notes": designed.notes,
        "states": designed.explored,
        "complete": designed.complete,
    }))
}

fn diff(input: &Value) -> Result<Value, Fault> {
    let (old, new) = (read(&source_named(input, "old")?)?, read(&source_named(input, "new")?)?);
    let rate = input["rate"].as_f64().filter(|rate| *rate >= 1.0).unwrap_or(JOB_RATE);
    let settings = migrate::Settings { region: input["region"].as_str().map(str::to_owned), rate };
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

fn exported(model: &Model, input: &Value) -> Result<Value, Fault> {
    let name = input["to"].as_str().unwrap_or_default();
    let known = || format::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    let to = format::format(name)
        .ok_or_else(|| Fault::bad(format!("There is no format {name}; there are {}.", known())))?;
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
