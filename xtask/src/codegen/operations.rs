//! `docs/operations.md`: each operation of the services' models, served or refused.

use std::fmt::Write as _;

use super::Service;
use super::facts::Facts;

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
pub(super) fn print(services: &[(&Service, Facts)]) -> String {
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
        page.push_str("| operation | |\n|---|---|\n");
        for operation in facts.operations.keys() {
            let _ = writeln!(
                page,
                "| {operation} | {} |",
                if is_served(operation) { "served" } else { "refused" }
            );
        }
    }
    page + TAIL
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
        let page = print(&[(&service, facts.expect("facts"))]);
        assert!(page.contains("| GetItem | served |"));
        assert!(page.contains("| PutItem | refused |"));
        assert!(page.contains("1 of 62 are served."));
    }

    #[test]
    fn the_page_in_the_docs_is_the_one_that_is_written_now() {
        super::super::run_documents(true).expect("docs/operations.md is up to date");
    }
}
