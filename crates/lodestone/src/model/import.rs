//! `lodestone model import [--from FORMAT] FILE`, or `--from-table NAME --endpoint-url URL`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use model::Source;
use model_format::{self as format, Format, Import, TABLE_CONTENTS};
use proof::survey;
use serde_json::json;

use super::endpoint::{EndpointArguments, explained, runtime};
use super::export::{format_named, formats, names, put};
use super::progress::Progress;
use super::{UNREADABLE, output, read};

/// Make a model from another tool's file, or from a running table. Standard error lists what can't be taken
/// over.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct ImportFile {
    /// The file to read, or a folder: all Terraform files in it, else all modules.
    #[arg(value_name = "FILE", required_unless_present = "from_table")]
    path: Option<PathBuf>,

    /// Its format; recognised by its content by default.
    #[arg(long, alias = "format", value_name = "FORMAT", value_parser = format_named)]
    from: Option<&'static Format>,

    /// Read this table of a database instead: its description and a sample of its items, from all parts of it and
    /// no faster than 100 read units a second. Entities are recognised by the words in their keys.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["path", "from"])]
    from_table: Option<String>,

    /// How many items of the table to read.
    #[arg(long, value_name = "ITEMS", default_value_t = 1000)]
    sample: usize,

    #[command(flatten)]
    endpoint: EndpointArguments,

    /// The model file to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ImportFile {
    pub fn run(self) -> ExitCode {
        let read = match &self.from_table {
            Some(table) => self.of_table(table).map(|text| (&TABLE_CONTENTS, table.clone(), text)),
            None => self.of_file(),
        };
        let (format, origin, text) = match read {
            Ok(read) => read,
            Err(status) => return status,
        };
        match format::import(format, &text) {
            Ok(import) => self.print(format, &import),
            Err(error) => {
                output::print_error(&format!("{origin} as {}: {}", format.name, error.0));
                ExitCode::from(UNREADABLE)
            }
        }
    }

    /// The format, the name of the source, and the text.
    fn of_file(&self) -> Result<(&'static Format, String, String), ExitCode> {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let root = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let Source { path, text, .. } = if path.is_dir() { folder(path)? } else { read(path)? };
        if self.from.is_none_or(|format| format.name == "terraform")
            && text.contains("module \"")
            && let Some(plan) = format::plan_of_modules(&text, &|module| terraform(&root.join(module)))
        {
            return Ok((format::format("terraform-plan").ok_or(ExitCode::from(UNREADABLE))?, path, plan));
        }
        match self.from.or_else(|| format::detect(&text)) {
            Some(format) => Ok((format, path, text)),
            None => {
                let names = names();
                output::print_error(&match syntax_error(&path, &text) {
                    Some(error) => format!("{path}: {error}"),
                    None => format!(
                        "{path}: its format can't be recognised from its content. Add `--from` and one of {names}."
                    ),
                });
                Err(ExitCode::from(UNREADABLE))
            }
        }
    }

    fn of_table(&self, table: &str) -> Result<String, ExitCode> {
        let endpoint = self.endpoint.open()?;
        let progress = Progress::new();
        let tell = |items| progress.count(table, items, self.sample);
        let problem = match runtime().block_on(survey(endpoint.as_ref(), table, self.sample, tell)) {
            Ok(Some(document)) => return Ok(document.to_string()),
            Ok(None) => {
                let address = endpoint.address();
                format!(
                    "{address} has no table `{table}`. `aws dynamodb list-tables --endpoint-url {address}` lists its tables"
                )
            }
            Err(error) => explained(&error),
        };
        output::print_error(&problem);
        Err(ExitCode::from(UNREADABLE))
    }

    fn print(&self, format: &Format, import: &Import) -> ExitCode {
        let described = json!({ "format": format.name, "model": import.text, "notes": import.notes.0 });
        put(self.output.as_deref(), self.json.then_some(described), &import.text, &import.notes)
    }
}

/// Why a file is not even what its name says, or its words.
fn syntax_error(path: &str, text: &str) -> Option<String> {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    let likely = match ending {
        Some("json") => "create-table",
        Some("yaml" | "yml") => "cloudformation",
        _ if text.contains("resource \"aws_dynamodb_table\"") => "terraform",
        _ => return None,
    };
    (format::format(likely)?.syntax.parse)(text).err().map(|error| error.0)
}

/// The files of a folder that are one document together: a Terraform configuration, or modules with entities.
fn folder(path: &Path) -> Result<Source, ExitCode> {
    const TOGETHER: [&[&str]; 2] = [&["tf"], &["ts", "js", "mjs", "cjs"]];
    let unreadable = |reason: &str| {
        output::print_error(&format!("{}: {reason}", path.display()));
        ExitCode::from(UNREADABLE)
    };
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(&error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let of = |endings: &[&str]| -> Vec<&PathBuf> {
        let fits = |file: &&PathBuf| {
            file.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one))
                && !file.to_string_lossy().ends_with(".d.ts")
        };
        files.iter().filter(fits).collect()
    };
    let Some(files) = TOGETHER.into_iter().map(of).find(|files| !files.is_empty()) else {
        return Err(unreadable("there are no .tf, .ts or .js files in this folder; name a file"));
    };
    let texts = files.into_iter().map(|file| Ok(read(file)?.text)).collect::<Result<Vec<_>, ExitCode>>()?;
    Ok(Source::new(path.display().to_string(), texts.join("\n")))
}

/// The Terraform files of a module's folder.
fn terraform(folder: &Path) -> Option<String> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "tf"));
    files.sort();
    let texts: Option<Vec<String>> = files.iter().map(|file| std::fs::read_to_string(file).ok()).collect();
    Some(texts?.join("\n"))
}

fn after_help() -> String {
    format!(
        "{}\nExamples:\n  lodestone model import data-model.json -o model.yaml\n  \
         lodestone model import --from-table app-main --endpoint-url http://localhost:8000 -o model.yaml",
        formats()
    )
}
