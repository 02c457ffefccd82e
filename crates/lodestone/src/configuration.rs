//! `serve --config FILE` and `serve --print-config`: the flags of `serve` in a file, by the same names.
//!
//! The file is turned into words that are put before those of the command line, and both are parsed together. So a file
//! can say all that flags can, and is checked as they are. What the command line says counts: a flag of the file that is
//! given there, or that conflicts with one, is left out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory};
use serde_json::Value;

use crate::command_line::{Arguments, Words};

/// The identifiers of the two flags.
const CONFIG: &str = "config";
pub const PRINT: &str = "print_config";
/// Names the file if no flag does: for images and units, whose users add flags of their own.
const VARIABLE: &str = "LODESTONE_CONFIG";

#[derive(Args)]
pub struct ConfigurationArguments {
    /// A YAML file with these flags by their names; those of the command line count before those of the file
    /// [default: what LODESTONE_CONFIG names]
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    config: Option<PathBuf>,

    /// Print all flags as a configuration file with what they are set to, and end
    #[arg(long, help_heading = "Configuration")]
    print_config: bool,
}

/// A flag may be given again: then the last one counts.
pub fn overriding(command: Command) -> Command {
    command.mut_subcommand("serve", |serve| serve.args_override_self(true))
}

/// The words, with those of the configuration file of `serve`.
pub fn with_file(words: Words) -> Result<Words, String> {
    if words.get(1).is_none_or(|word| word != "serve") {
        return Ok(words);
    }
    let mut command = overriding(Arguments::command());
    command.build();
    // What is wrong with the command line is found when all words are parsed.
    let lenient = command.clone().ignore_errors(true).try_get_matches_from(&words);
    let given = lenient.ok().and_then(|matches| matches.subcommand_matches("serve").cloned());
    let Some(given) = given else { return Ok(words) };
    let Some(path) = file_of(&given) else { return Ok(words) };
    let serve = command.find_subcommand("serve").ok_or("there is no command `serve`")?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("can't read the configuration {}: {error}", path.display()))?;
    let from_file = words_of(serve, &given, &text, &path)?;
    let (before, after) = words.split_at(2);
    Ok([before, &from_file, after].concat())
}

/// The file that the command line names, or else the environment.
fn file_of(given: &ArgMatches) -> Option<PathBuf> {
    let named = given.try_get_one::<PathBuf>(CONFIG).ok().flatten().cloned();
    named.or_else(|| std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from))
}

fn words_of(serve: &Command, given: &ArgMatches, text: &str, path: &Path) -> Result<Words, String> {
    let problem = |what: String| format!("the configuration {}: {what}", path.display());
    let entries: Option<BTreeMap<String, Value>> =
        serde_saphyr::from_str(text).map_err(|error| problem(error.to_string()))?;
    let mut words = Words::new();
    for (name, value) in entries.unwrap_or_default() {
        let is_meant = |arg: &&Arg| arg.get_long() == Some(&*name) && !is_about_file(arg);
        let arg = serve.get_arguments().find(is_meant).ok_or_else(|| {
            problem(format!("`serve` has no flag --{name}; `lodestone serve --print-config` lists all"))
        })?;
        if !is_overruled(serve, given, arg) {
            words.extend(flags(arg, &name, &value).map_err(problem)?);
        }
    }
    Ok(words)
}

fn is_about_file(arg: &Arg) -> bool {
    [CONFIG, PRINT, "help", "version"].contains(&arg.get_id().as_str())
}

/// Whether the command line has the flag, or one that conflicts with it.
fn is_overruled(serve: &Command, given: &ArgMatches, arg: &Arg) -> bool {
    let is_given = |arg: &Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let conflicts = |one: &Arg, other: &Arg| {
        serve.get_arg_conflicts_with(one).iter().any(|found| found.get_id() == other.get_id())
    };
    is_given(arg)
        || serve
            .get_arguments()
            .any(|other| is_given(other) && (conflicts(arg, other) || conflicts(other, arg)))
}

/// An entry as flags: a switch if it is true, one for each element of a list.
fn flags(arg: &Arg, name: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    let may_be_bare = is_switch || arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let flag = |text: &str| OsString::from(format!("--{name}={text}"));
    Ok(match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Bool(true) if may_be_bare => vec![OsString::from(format!("--{name}"))],
        _ if is_switch => return Err(format!("{name} is true or false")),
        Value::String(text) => vec![flag(text)],
        Value::Number(number) => vec![flag(&number.to_string())],
        Value::Array(values) => {
            let each = values.iter().map(|value| flags(arg, name, value));
            each.collect::<Result<Vec<_>, _>>()?.concat()
        }
        Value::Bool(true) | Value::Object(_) => return Err(format!("{name} is a text, a number or a list")),
    })
}

/// All flags as a configuration file: those that are set, and the others in comments with what they are by default.
pub fn printed(serve: &Command, matches: &ArgMatches) -> String {
    let mut text = String::from(
        "# The configuration of `lodestone serve --config FILE`: its flags by their names. What is not set has a `#`\n\
         # before it and its default behind it. Flags of the command line count before those of this file.\n",
    );
    let mut heading = None;
    for arg in serve.get_arguments().filter(|arg| !arg.is_hide_set() && !is_about_file(arg)) {
        let Some(name) = arg.get_long() else { continue };
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            text += &format!("\n# ── {}\n", heading.unwrap_or("More"));
        }
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        text += &format!("\n# {}\n", help.replace('\n', " "));
        text += &entry(arg, name, matches);
    }
    text
}

fn entry(arg: &Arg, name: &str, matches: &ArgMatches) -> String {
    let id = arg.get_id().as_str();
    let is_set = matches.value_source(id) == Some(ValueSource::CommandLine);
    let mark = if is_set { "" } else { "# " };
    let raw = matches.get_raw(id).into_iter().flatten();
    let mut values: Vec<String> = raw.map(|value| shown(&value.to_string_lossy())).collect();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        values = vec![matches.get_flag(id).to_string()];
    }
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    match values.as_slice() {
        [] => format!("# {name}:\n"),
        [value] if !is_list => format!("{mark}{name}: {value}\n"),
        values => format!("{mark}{name}: [{}]\n", values.join(", ")),
    }
}

/// A value as YAML: a number as it is, all else in quotes, as JSON and YAML have them alike.
fn shown(value: &str) -> String {
    let is_number = value.parse::<u64>().is_ok_and(|number| number.to_string() == value);
    if is_number { value.to_owned() } else { Value::from(value).to_string() }
}
