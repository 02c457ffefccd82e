//! A tool's result in a few lines. Everything is in the structured result; this is what a person or an assistant reads
//! first.

use model::cost::dollars;
use serde_json::Value;

use super::tool::{Tool, ToolWork};

/// Lines of a list. The structured result has all of them.
const LINES_MAX: usize = 40;

pub fn summary(tool: &Tool, result: &Value) -> String {
    match tool.work {
        ToolWork::Command(command) => of_command(command, result),
        ToolWork::Operation(_) => result.to_string(),
    }
}

fn of_command(command: &str, result: &Value) -> String {
    match command {
        "init" | "import" => text(result, "model"),
        "export" => text(result, "text"),
        "explain" => text(result, "page"),
        "check" => findings(result),
        "plan" => plan(result),
        "prove" => proof(result),
        "cost" => cost(result),
        "heat" => heat(result),
        "design" => design(result),
        "diff" => text(result, "text"),
        "simulate" => simulation(result),
        "code" => text(result, "cli"),
        _ => result.to_string(),
    }
}

/// Why there is no result.
pub fn problem(result: &Value) -> String {
    let message = text(result, "message");
    match result["findings"].as_array() {
        Some(_) => format!("{message}\n{}", findings(result)),
        None => message,
    }
}

fn text(result: &Value, member: &str) -> String {
    result[member].as_str().unwrap_or_default().to_owned()
}

fn list(result: &Value) -> impl Iterator<Item = &Value> {
    result.as_array().into_iter().flatten()
}

fn lines(heading: String, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(LINES_MAX);
    let shown = lines.into_iter().take(LINES_MAX);
    let mut all: Vec<String> = std::iter::once(heading).chain(shown).collect();
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join("\n")
}

fn findings(result: &Value) -> String {
    let open: Vec<&Value> = list(&result["findings"]).filter(|one| one["allowed"].is_null()).collect();
    let count = |level: &str| open.iter().filter(|one| one["level"] == level).count();
    let heading =
        format!("{} errors, {} warnings, {} notes", count("error"), count("warning"), count("info"));
    lines(
        heading,
        open.iter().map(|one| {
            let rule = one["rule"].as_str().map(|rule| format!(" {rule}")).unwrap_or_default();
            let help = one["help"].as_str().map(|help| format!(" Help: {help}.")).unwrap_or_default();
            let (level, line) = (text(one, "level"), &one["at"]["line"]);
            format!("{level}{rule} in line {line}: {}.{help}", text(one, "message"))
        }),
    )
}

fn plan(result: &Value) -> String {
    let patterns = list(&result["patterns"]).map(|one| {
        let gaps: Vec<&str> = list(&one["gaps"]).filter_map(Value::as_str).collect();
        let gaps = if gaps.is_empty() { String::new() } else { format!("; missing: {}", gaps.join("; ")) };
        let units = &one["units"];
        format!(
            "{}: {} on {}, {} read units, {} write units{gaps}",
            text(one, "id"),
            text(one, "operation"),
            text(one, "source"),
            units["read"],
            units["write"],
        )
    });
    lines(format!("the patterns of {}", text(result, "model")), patterns)
}

fn proof(result: &Value) -> String {
    let patterns: Vec<&Value> = list(&result["patterns"]).collect();
    let failed = patterns.iter().filter(|one| one["verdict"] == "not proven").map(|one| {
        let reasons: Vec<String> = list(&one["findings"]).map(|finding| text(finding, "message")).collect();
        format!("{} is not proven: {}", text(one, "pattern"), reasons.join("; "))
    });
    let proven = patterns.iter().filter(|one| one["verdict"] == "proven").count();
    lines(format!("{proven} of {} patterns are proven", patterns.len()), failed)
}

fn heat(result: &Value) -> String {
    let hottest = list(&result["heat"]).filter_map(|one| {
        let key = one["keys"].get(0)?;
        let place = one["index"]
            .as_str()
            .map_or(text(one, "table"), |index| format!("{} {index}", text(one, "table")));
        let load = 100.0 * key["load"].as_f64().unwrap_or_default();
        Some(format!("{place}: {} at {load:.0} % of what a partition sustains", text(key, "key")))
    });
    lines("the busiest key of each table and index".to_owned(), hottest)
}

fn simulation(result: &Value) -> String {
    let ways = list(&result["ways"]).map(|way| {
        let sides = || list(&way["places"]).flat_map(|place| [&place["read"], &place["write"]]);
        let units = |member: &str| sides().filter_map(|side| side[member].as_f64()).sum::<f64>();
        format!(
            "{}: {:.0} units consumed, {:.0} throttled, {} a month",
            text(way, "way"),
            units("consumed"),
            units("throttled"),
            dollars(way["price_month"].as_f64().unwrap_or_default()),
        )
    });
    lines(format!("{} minutes were played", result["minutes"]), ways)
}

fn cost(result: &Value) -> String {
    let bill = &result["declared"];
    let known = dollars(bill["known"].as_f64().unwrap_or_default());
    let missing: Vec<&str> = list(&bill["missing"]).filter_map(Value::as_str).collect();
    if missing.is_empty() {
        format!("{known} a month as declared")
    } else {
        format!("{known} a month as declared, without {}, of which no price is known", missing.join(", "))
    }
}

fn design(result: &Value) -> String {
    let total = result["total"].as_f64().unwrap_or_default();
    let notes = list(&result["notes"]).filter_map(Value::as_str).map(|note| format!("# {note}"));
    lines(format!("# {} a month\n{}", dollars(total), text(result, "model")), notes)
}
