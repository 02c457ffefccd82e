//! `docs/operations.md`: each operation of the services' models, served or refused. What the engine serves is described
//! by its own files, one for each operation.

use std::fmt::Write as _;
use std::path::Path;

use super::facts::Facts;
use super::{Service, name};
use crate::command::root;

const HEAD: &str = "\
<!-- Written by `cargo xtask codegen`. Do not edit. -->

# Operations

Each operation of the API models (botocore 1.44.0), and whether it is served. An operation that is not served is refused with \
`UnknownOperationException`, as AWS refuses what it does not know.
";

/// Operations outside of the models that code is generated from: they are named by path, or have few members.
const TAIL: &str = "
## Lambda

Event source mappings, by path: CreateEventSourceMapping, GetEventSourceMapping, ListEventSourceMappings, \
UpdateEventSourceMapping and DeleteEventSourceMapping ([triggers](triggers.md)). All else of Lambda is refused.

## DAX

On the port of [DAX](dax.md): GetItem, PutItem, UpdateItem, DeleteItem, Query, Scan, BatchGetItem, BatchWriteItem, \
TransactGetItems and TransactWriteItems. On the HTTP port DescribeClusters is served, and all else of DAX is refused.

## STS

GetCallerIdentity is served, and all else of STS is refused.
";

/// The page. The services come in the order in which they are generated.
pub(super) fn print(services: &[(&Service, Facts)]) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    for (service, facts) in services {
        let name = match service.module {
            "dynamodb" => "DynamoDB",
            "streams" => "DynamoDB Streams",
            "cloudwatch" => "CloudWatch",
            "autoscaling" => "Application Auto Scaling",
            module => module,
        };
        let is_served = |operation: &str| service.operations.contains(&operation);
        let served = facts.operations.keys().filter(|operation| is_served(operation)).count();
        let _ = write!(page, "\n## {name}\n\n{served} of {} are served.\n\n", facts.operations.len());
        let is_engine = matches!(service.module, "dynamodb" | "streams");
        page.push_str(if is_engine {
            "| operation | | what it does |\n|---|---|---|\n"
        } else {
            "| operation | |\n|---|---|\n"
        });
        for operation in facts.operations.keys() {
            let row = match is_served(operation) {
                true if is_engine => Described::by_engine(operation)?.row(),
                true => "served".to_owned(),
                false => "refused".to_owned(),
            };
            let _ = writeln!(page, "| {operation} | {row} |");
        }
    }
    Ok(page + TAIL)
}

/// What the file of an operation says of it.
#[derive(Debug, PartialEq, Eq)]
struct Described {
    reads: bool,
    purpose: String,
}

impl Described {
    fn by_engine(operation: &str) -> Result<Described, String> {
        let path = format!("crates/engine/src/operation/{}.rs", name::snake(operation));
        let text = std::fs::read_to_string(root().join(Path::new(&path)))
            .map_err(|error| format!("{operation} is to be described by {path}: {error}"))?;
        Described::by_text(operation, &text).ok_or_else(|| {
            format!("{path} should begin with `//! {operation}: what it does.` and state its KIND")
        })
    }

    /// The first sentence behind the name, and the kind.
    fn by_text(operation: &str, text: &str) -> Option<Described> {
        let lines: Vec<&str> =
            text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let account = lines.join(" ");
        let account = account.strip_prefix(operation)?.strip_prefix(": ")?;
        let purpose = account.split_once(". ").map_or(account, |(first, _)| first).trim_end_matches('.');
        let reads = match () {
            () if text.contains("const KIND: Kind = Kind::Read;") => true,
            () if text.contains("const KIND: Kind = Kind::Write;") => false,
            () => return None,
        };
        Some(Described { reads, purpose: purpose.to_owned() })
    }

    fn row(&self) -> String {
        format!("{} | {}", if self.reads { "reads" } else { "writes" }, self.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_of_each_operation_whether_it_is_served() {
        let facts = Facts::read(std::path::Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../crates/api/facts/dynamodb.json"
        )));
        let service = Service { module: "dynamodb", operations: &["GetItem"], borrowed: &[] };
        let page = print(&[(&service, facts.expect("facts"))]).expect("a page");
        assert!(page.contains("| GetItem | reads | one item by its key |"));
        assert!(page.contains("| PutItem | refused |"));
        assert!(page.contains("1 of 62 are served."));
    }

    #[test]
    fn an_operation_is_described_by_the_head_of_its_file() {
        let text =
            "//! Scan: all items of a table\n//! or index. In pages.\n\n    const KIND: Kind = Kind::Read;\n";
        let purpose = "all items of a table or index".to_owned();
        assert_eq!(Described::by_text("Scan", text), Some(Described { reads: true, purpose }));
        assert_eq!(Described::by_text("Query", text), None);
        assert_eq!(Described::by_text("Scan", "//! Scan: all items.\n"), None);
    }

    /// The steps of the page, and that each place in it has what the page says, for the operation that it has as an example.
    #[test]
    fn the_page_on_adding_an_operation_names_the_places_of_get_item() {
        let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
        let page = read("docs/adding-an-operation.md");
        let steps: Vec<(&str, &str)> = page.lines().filter_map(step).collect();
        assert_eq!(steps.len(), 5, "{steps:?}");
        for (path, content) in steps {
            assert!(read(path).contains(content), "{path} has no {content:?}");
        }
    }

    /// A numbered line that begins with a path, and whose last code is what GetItem has there.
    fn step(line: &str) -> Option<(&str, &str)> {
        line.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok())?;
        let codes: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        Some((codes.first()?, codes.last()?))
    }

    #[test]
    fn the_page_in_the_docs_is_the_one_that_is_written_now() {
        super::super::run_documents(true).expect("docs/operations.md is up to date");
    }
}
