//! Small files in every format, in `corpus/`: each comes in, goes out as it was, and comes in again as the same model.
//! The folder of a file is its format.

use std::path::{Path, PathBuf};

use model::{Source, file};
use model_format as format;

const FILES_LEAST: usize = 60;
/// A program comes back as another program with the same tables and entities.
const PROGRAMS: [&str; 2] = ["cdk", "dynamodb-toolbox"];

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/corpus");
    let folders = std::fs::read_dir(folder).expect("the corpus is there");
    let of = |folder: PathBuf| {
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path())
    };
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| of(folder.expect("a folder").path())).collect();
    files.sort();
    files
}

/// A model file as data: the order of members is not kept.
fn plain(text: &str) -> Option<serde_json::Value> {
    file::to_json(&Source::new("model.yaml", text))
}

/// What goes wrong on the way of one file, if anything.
fn complaint(path: &Path) -> Option<String> {
    let name = path.parent()?.file_name()?.to_str()?;
    let text = std::fs::read_to_string(path).expect("a readable file");
    let expected = format::format(name).unwrap_or_else(|| panic!("`{name}` is no format"));
    let found = format::detect(&text).map(|format| format.name);
    if found != Some(name) {
        return Some(format!("is taken for {found:?}"));
    }
    let import = match format::import(expected, &text) {
        Ok(import) => import,
        Err(error) => return Some(error.0),
    };
    expected.write?;
    let out = match format::export(expected, &import.model) {
        Ok(export) => export.text,
        Err(error) => return Some(format!("can't be written: {}", error.0)),
    };
    let parse = expected.syntax.parse;
    let (was, is) = (parse(&text).ok()?, parse(&out));
    if is.as_ref().ok() != Some(&was) && !PROGRAMS.contains(&name) {
        return Some(format!("comes back as\n{out}\nthrough\n{}", import.text));
    }
    match format::import(expected, &out) {
        Ok(again) if plain(&again.text) == plain(&import.text) => None,
        Ok(again) => Some(format!("comes in again as\n{}\nnot\n{}", again.text, import.text)),
        Err(error) => Some(format!("does not come in again: {}\n{out}", error.0)),
    }
}

#[test]
fn every_file_comes_in_goes_out_and_comes_in_again() {
    let files = files();
    assert!(files.len() >= FILES_LEAST, "{} files", files.len());
    let complaints = files.iter().filter_map(|path| {
        let complaint = complaint(path)?;
        Some(format!("{}: {complaint}\n", path.display()))
    });
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn imported(file: &str) -> format::Import {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/corpus").join(file);
    let text = std::fs::read_to_string(path).expect("a file of the corpus");
    let format = format::detect(&text).expect("a known format");
    format::import(format, &text).unwrap_or_else(|error| panic!("{}", error.0))
}

fn check(file: &str, parts: &[&str]) {
    let text = imported(file).text;
    for part in parts {
        assert!(text.contains(part), "{file} has no `{part}`:\n{text}");
    }
}

#[test]
fn booleans_may_be_words() {
    check(
        "cloudformation/booleans-as-words.yaml",
        &["pitr: true", "deletion-protection: true", "ttl: expiresAt"],
    );
    check("cloudformation/booleans-as-words.yaml", &["encryption: aws-managed"]);
    check("cloudformation/yaml-1.1-booleans.yaml", &["pitr: true", "deletion-protection: true"]);
}

#[test]
fn what_loops_aliases_and_short_forms_stand_for_is_read() {
    check("cloudformation/for-each.yaml", &["Users:", "Teams:"]);
    check("cloudformation/anchors-and-merges.yaml", &["users:", "teams:"]);
    check("cloudformation/simple-table.yaml", &["partition: code", "partition: id", "read: 5"]);
    check("cloudformation-json/simple-table.json", &["code: number", "team: blue"]);
    check("cloudformation/serverless.yml", &["partition: PK", "sort: SK"]);
    check("cloudformation/serverless-in-parts.yml", &["orders:", "users:", "partition: userId"]);
    check("cloudformation/names-with-a-hash.yaml", &["tenant#id"]);
    check("create-table/without-a-name.json", &["name: table"]);
}

#[test]
fn what_a_template_leaves_to_others_is_reported() {
    let noted = |file: &str, note: &str| {
        let notes = imported(file).notes.0;
        assert!(notes.iter().any(|one| one.contains(note)), "`{note}` is not in {notes:#?}");
    };
    let file = "cloudformation/mappings-and-conditions.yaml";
    check(file, &["billing: provisioned", "read: 50", "pitr: true", "deletion-protection: true"]);
    noted(file, "`ProvisionedThroughput.WriteCapacityUnits` is decided on deployment");
    noted("cloudformation/serverless-in-parts.yml", "resources/queues.yml");
    noted("cloudformation/for-each-of-a-deployment.yaml", "Fn::ForEach::Tables makes is kept, but not read");
}

#[test]
fn what_a_described_table_says_of_its_items_and_regions_is_read() {
    let file = "table-contents/describe-table-replicas.json";
    check(file, &["replicas: us-east-1", "count: 4K", "size: 31 B", "project: keys", "max: 100"]);
    assert!(imported(file).notes.0.iter().any(|note| note.contains("what expires")));
}

#[test]
fn what_a_plan_has_beyond_a_model_is_reported() {
    let notes = imported("terraform-plan/beyond-a-model.json").notes.0;
    for name in ["`import_table`", "`recovery_period_in_days`"] {
        assert!(notes.iter().any(|note| note.contains(name)), "{name} is not in {notes:?}");
    }
    assert!(!notes.iter().any(|note| note.contains("restore_source_name")), "{notes:?}");
}

#[test]
fn ranges_filters_and_new_values_of_a_schema_are_read() {
    check(
        "mcp-schema/ranges.json",
        &[
            "created_at >= :created_at",
            "created_at between :created_at_from and :created_at_to",
            "created_at begins_with :created_at",
            "created_at > :created_at",
        ],
    );
    check("mcp-schema/filters.json", &["filter: total >= :min_total", "by: customer_id"]);
    check("mcp-schema/several-values.json", &["status in (:first, :second) and exists total"]);
    let notes = imported("mcp-schema/mapping-without-a-template.json").notes.0;
    let noted = |index: &str| notes.iter().any(|note| note.contains(&format!("gsi_mapping of \"{index}\"")));
    assert!(noted("ByStatus") && noted("Gone"), "{notes:?}");
    check("mcp-schema/updates.json", &["set: status", "[customer_id, created_at, order_id]"]);
    check("mcp-schema/ttl-and-cross-table.json", &["ttl: expires_at"]);
    check("mcp-schema/number-keys.json", &["at: number"]);
}

#[test]
fn types_in_keys_and_indexes_as_patterns_are_read() {
    check("onetable/type-in-keys.json", &["User#{id}", "Team#{name}", "User#{email}"]);
    check("electrodb/entity.json", &["task.query.byState", "task.get.primary", "by: state"]);
}

#[test]
fn tables_and_indexes_of_a_program_are_read_and_the_rest_is_reported() {
    check(
        "cdk/table.ts",
        &[
            "name: orders",
            "ttl: expiresAt",
            "stream: new",
            "encryption: aws-managed",
            "placedAt: number",
            "[total, customerId]",
        ],
    );
    check("cdk/constants.ts", &["partition: pk", "placedAt: number", "[total, status]"]);
    check("electrodb/constant-partition.json", &["article.query.latest: { query: article, index: gsi1 }"]);
    check("dynamodb-toolbox/part-of-an-index.ts", &["sk: \"{monsterId}\"", "byLevel"]);
    check("cdk/provisioned.ts", &["Users:", "read: 20", "write: 10", "read: 5", "id: number", "write: 4"]);
    check(
        "cdk/table-v2.ts",
        &["region: eu-central-1", "target: 62.5%", "replicas: [us-east-1, eu-west-1]", "max: 4000"],
    );
    let notes = imported("cdk/table.ts").notes;
    assert!(notes.0.contains(&"OrdersTable: `removalPolicy` is not read".to_owned()), "{notes:?}");
    assert!(
        imported("cdk/provisioned.ts").notes.0.iter().any(|note| note.starts_with("Users: its name is made"))
    );
}

#[test]
fn entities_of_a_toolbox_program_are_read() {
    check(
        "dynamodb-toolbox/single-table.ts",
        &[
            "name: shop",
            "PK: \"CUSTOMER#{customerId}\"",
            "SK: PROFILE",
            "SK: \"ORDER#{placedAt}#{orderId}\"",
            "when: status = OPEN",
            "openPK: \"OPEN#{shard(orderId, 4)}\"",
            "mailPK: \"MAIL#{lower(email)}\"",
            "[OPEN, SHIPPED]",
            "{ value: Order }",
            "_ct: timestamp",
        ],
    );
    check(
        "dynamodb-toolbox/saved-as.ts",
        &["pk: \"DEVICE#{deviceId}\"", "sk: \"{at}\"", "v: number", "__kind__", "changedAt: timestamp"],
    );
    check(
        "dynamodb-toolbox/compute-key.ts",
        &["pk: \"T#{tenant}#{id}\"", "sk: \"{seq:08}\"", "{ type: number, optional: true }"],
    );
    check(
        "dynamodb-toolbox/constants.ts",
        &["Sessions:", "type: local", "userId", "{ type: string-set, optional: true }", "byDay"],
    );
}

#[test]
fn access_patterns_of_a_toolbox_program_are_patterns() {
    check(
        "dynamodb-toolbox/access-patterns.ts",
        &[
            "ordersOfCustomer",
            "by: customerId",
            "order: placedAt desc",
            "limit: 20",
            "where: placedAt between :placedAtFrom and :placedAtTo",
            "where: status = OPEN",
            "index: byStatus",
            "query: [Customer, Order]",
            "consistency: strong",
        ],
    );
}

#[test]
fn what_a_toolbox_program_computes_is_reported() {
    let noted = |file: &str, note: &str| {
        let notes = imported(file).notes.0;
        assert!(notes.iter().any(|one| one.contains(note)), "`{note}` is not in {notes:#?}");
    };
    noted("dynamodb-toolbox/single-table.ts", "Customer: `hidden` of PK, SK is not read");
    noted("dynamodb-toolbox/single-table.ts", "does not say what its indexes project");
    noted("dynamodb-toolbox/saved-as.ts", "value is stored as `v`");
    noted("dynamodb-toolbox/saved-as.ts", "deviceId is stored in `pk` alone");
    noted("dynamodb-toolbox/constants.ts", "its name is computed by the program");
    noted("dynamodb-toolbox/constants.ts", "its link is code that is not read");
    noted("dynamodb-toolbox/access-patterns.ts", "its option `maxPages` is not read");
    let old = "import { Table, Entity } from 'dynamodb-toolbox';\n\
               const T = new Table({ name: 'things', partitionKey: { name: 'pk', type: 'string' } });\n\
               const E = new Entity({ name: 'E', attributes: { pk: { partitionKey: true } }, table: T });\n";
    let format = format::detect(old).expect("a known format");
    let notes = format::import(format, old).unwrap_or_else(|error| panic!("{}", error.0)).notes.0;
    assert!(notes.iter().any(|note| note.contains("release 0 of dynamodb-toolbox")), "{notes:?}");
}
