//! Writes `crates/api/src/<service>/generated` from the service's facts in `crates/api/facts/<service>.json`.
//!
//! 1. Read the facts: operations, shapes and constraints (of botocore 1.44.0, without its prose; of CloudWatch
//!    and Application Auto Scaling those of the served operations).
//! 2. Collect the shapes that the served operations use. A server reads inputs and writes outputs, a client
//!    the other way round, so every shape can be read and written.
//! 3. Print one file for each kind of code: operations, shapes, enumerations, decoders, encoders; for a service
//!    with more protocols than JSON also a description of its shapes.
//! 4. Format with rustfmt, then write, or compare when asked to check.
//!
//! It also writes `docs/operations.md`: which operations are served.
//!
//! The printed code holds no rule of its own: it calls `api::decode` and `api::encode`. To serve one more
//! operation, add its name to [`SERVICES`].

mod decode;
mod encode;
mod enumeration;
mod facts;
mod index;
mod name;
mod operation;
mod operations;
mod quirks;
mod reach;
mod schema;
mod shape;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use facts::Facts;
use reach::Reach;

/// A service that code is generated for.
struct Service {
    /// Its module in `api`, and the name of its facts file.
    module: &'static str,
    /// The operations that get a variant of `Operation`, in the order in which they are listed there.
    operations: &'static [&'static str],
    /// Shapes that are the same as DynamoDB's. They are imported from there instead of printed again.
    borrowed: &'static [&'static str],
}

const SERVICES: &[Service] = &[
    Service {
        module: "dynamodb",
        operations: &[
            "CreateTable",
            "DescribeTable",
            "ListTables",
            "UpdateTable",
            "DeleteTable",
            "TagResource",
            "UntagResource",
            "ListTagsOfResource",
            "UpdateTimeToLive",
            "DescribeTimeToLive",
            "DescribeContinuousBackups",
            "UpdateContinuousBackups",
            "RestoreTableToPointInTime",
            "CreateBackup",
            "DescribeBackup",
            "ListBackups",
            "DeleteBackup",
            "RestoreTableFromBackup",
            "ExportTableToPointInTime",
            "DescribeExport",
            "ListExports",
            "ImportTable",
            "DescribeImport",
            "ListImports",
            "StartBulkPutItems",
            "DescribeBulkOperation",
            "ListBulkOperations",
            "CancelBulkOperation",
            "PutResourcePolicy",
            "GetResourcePolicy",
            "DeleteResourcePolicy",
            "UpdateContributorInsights",
            "DescribeContributorInsights",
            "ListContributorInsights",
            "EnableKinesisStreamingDestination",
            "DisableKinesisStreamingDestination",
            "DescribeKinesisStreamingDestination",
            "UpdateKinesisStreamingDestination",
            "CreateGlobalTable",
            "DescribeGlobalTable",
            "DescribeGlobalTableSettings",
            "ListGlobalTables",
            "UpdateGlobalTable",
            "UpdateGlobalTableSettings",
            "DescribeTableReplicaAutoScaling",
            "UpdateTableReplicaAutoScaling",
            "DescribeLimits",
            "DescribeEndpoints",
            "PutItem",
            "GetItem",
            "UpdateItem",
            "DeleteItem",
            "Query",
            "Scan",
            "SearchVectors",
            "BatchGetItem",
            "BatchWriteItem",
            "ExecuteStatement",
            "BatchExecuteStatement",
            "TransactGetItems",
            "TransactWriteItems",
            "ExecuteTransaction",
        ],
        borrowed: &[],
    },
    Service {
        module: "streams",
        operations: &["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"],
        borrowed: &["KeySchemaElement", "KeyType", "StreamViewType"],
    },
    Service {
        module: "cloudwatch",
        operations: &[
            "GetMetricStatistics",
            "GetMetricData",
            "ListMetrics",
            "PutMetricAlarm",
            "DescribeAlarms",
            "DescribeAlarmsForMetric",
            "DescribeAlarmHistory",
            "SetAlarmState",
            "EnableAlarmActions",
            "DisableAlarmActions",
            "DeleteAlarms",
            "TagResource",
            "UntagResource",
            "ListTagsForResource",
            "GetInsightRuleReport",
            "DescribeInsightRules",
        ],
        borrowed: &[],
    },
    Service {
        module: "autoscaling",
        operations: &[
            "RegisterScalableTarget",
            "DescribeScalableTargets",
            "DeregisterScalableTarget",
            "PutScalingPolicy",
            "DescribeScalingPolicies",
            "DeleteScalingPolicy",
            "PutScheduledAction",
            "DescribeScheduledActions",
            "DeleteScheduledAction",
            "DescribeScalingActivities",
            "TagResource",
            "UntagResource",
            "ListTagsForResource",
        ],
        borrowed: &[],
    },
];

/// The service's facts file, and what of it is used.
struct Source<'f> {
    service: &'f Service,
    facts: &'f Facts,
    reach: Reach,
}

pub type Error = Box<dyn std::error::Error>;

/// Writes the generated files. With `check`, only reports the first file that is not as it would be written.
pub fn run(check: bool) -> Result<(), Error> {
    let api = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask has no parent folder")?
        .join("crates/api");
    for service in SERVICES {
        let facts = Facts::read(&api.join("facts").join(service.module).with_extension("json"))?;
        let files = generate(service, &facts)?;
        let folder = api.join("src").join(service.module).join("generated");
        if check { compare(&folder, &files)? } else { write(&folder, &files)? }
    }
    run_documents(check)
}

/// Writes or checks the page of the docs that lists all operations.
fn run_documents(check: bool) -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let facts = |service: &'static Service| {
        let path = root.join("crates/api/facts").join(service.module).with_extension("json");
        Facts::read(&path).map(|facts| (service, facts))
    };
    let page = operations::print(&SERVICES.iter().map(facts).collect::<Result<Vec<_>, _>>()?)?;
    let path = root.join("docs/operations.md");
    match check {
        false => std::fs::write(&path, page)?,
        true if std::fs::read_to_string(&path).ok().as_ref() != Some(&page) => {
            return Err(format!("{} is not what `cargo xtask codegen` writes", path.display()).into());
        }
        true => {}
    }
    Ok(())
}

fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

fn compare(folder: &Path, files: &[(&str, String)]) -> Result<(), Error> {
    for (name, text) in files {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(text) {
            return Err(format!("{} is not what `cargo xtask codegen` writes", path.display()).into());
        }
    }
    let written: BTreeSet<OsString> = files.iter().map(|(name, _)| name.into()).collect();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !written.contains(&entry.file_name()) {
            return Err(format!("`cargo xtask codegen` does not write {}", entry.path().display()).into());
        }
    }
    Ok(())
}

/// The formatted text of each generated file.
fn generate(service: &Service, facts: &Facts) -> Result<Vec<(&'static str, String)>, Error> {
    let source = Source { service, facts, reach: Reach::of(facts, service)? };
    let mut files = vec![
        ("mod.rs", index::print(&source)),
        ("operation.rs", operation::print(&source)?),
        ("shape.rs", shape::print(&source)?),
        ("enumeration.rs", enumeration::print(&source)?),
        ("decode.rs", decode::print(&source)?),
        ("encode.rs", encode::print(&source)?),
    ];
    if facts.speaks_more_than_json() {
        files.push(("schema.rs", schema::print(&source)?));
    }
    files.into_iter().map(|(name, body)| Ok((name, format_rust(service.module, &body)?))).collect()
}

fn format_rust(module: &str, body: &str) -> Result<String, Error> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=110,use_small_heuristics=Max"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let text =
        format!("// Generated by `cargo xtask codegen` from facts/{module}.json. Do not edit.\n\n{body}");
    rustfmt.stdin.take().ok_or("rustfmt takes no input")?.write_all(text.as_bytes())?;
    let output = rustfmt.wait_with_output()?;
    if !output.status.success() {
        return Err("rustfmt refused the generated text".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether the type's name occurs in the text as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
}

/// The value for a name in a table of names and values.
fn lookup<'t, T>(table: &'t [(&str, T)], name: &str) -> Option<&'t T> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_facts_can_be_generated() {
        for (service, count) in SERVICES.iter().zip([62, 4, 16, 13]) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api/facts");
            let facts = Facts::read(&path.join(service.module).with_extension("json")).expect("facts");
            let names = facts.operations.keys().map(|name| &*name.clone().leak()).collect::<Vec<&str>>();
            assert_eq!(names.len(), count);
            let all =
                Service { module: service.module, operations: names.leak(), borrowed: service.borrowed };
            generate(&all, &facts).expect("each shape has a Rust form");
        }
    }
}
