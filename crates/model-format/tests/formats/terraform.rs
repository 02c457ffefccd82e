//! Terraform: HCL, `.tf.json`, plans.

use model::model::{Billing, Encryption, Model};
use model_format::{self as format, Import};
use serde_json::{Value, json};

use super::support::{import, read, round_trip, with_unknown_members};

fn import_hcl(text: &str) -> Import {
    let format = format::detect(text).unwrap_or_else(|| panic!("not recognised:\n{text}"));
    assert_eq!(format.name, "terraform");
    format::import(format, text).unwrap_or_else(|error| panic!("{}", error.0))
}

fn export_hcl(model: &Model) -> String {
    format::export(format::format("terraform").unwrap(), model).unwrap().text
}

fn parsed(text: &str) -> Value {
    (format::format("terraform").unwrap().syntax.parse)(text).unwrap()
}

const CONFIGURATION: &str = r#"
# A comment, which is not kept.
terraform {
  backend "s3" {
    bucket = "states"
  }
}

provider "aws" {
  region = var.region
}

provider "aws" {
  alias  = "west"
  region = "us-west-2"
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "names" {
  type = map(object({ name = string }))
}

locals {
  prefix = "shop-${var.stage}"
  orders = "orders"
}

resource "aws_dynamodb_table" "this" {
  name         = "${var.stage}-${local.orders}"
  billing_mode = "PROVISIONED"
  read_capacity  = 20
  write_capacity = "10"
  hash_key  = "PK"
  range_key = "at"
  depends_on = [aws_kms_key.main]

  attribute {
    name = "PK"
    type = "S"
  }
  attribute {
    name = "at"
    type = "N"
  }

  global_secondary_index {
    name            = "byTime"
    hash_key        = "at"
    projection_type = "ALL"
    read_capacity   = 5
    write_capacity  = 5
  }

  dynamic "local_secondary_index" {
    for_each = var.indexes
    content {
      name = local_secondary_index.value["name"]
    }
  }

  ttl {
    attribute_name = "expiresAt"
    enabled        = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = aws_kms_key.main.arn
  }

  lifecycle {
    ignore_changes = [read_capacity, global_secondary_index]
  }

  tags = merge(local.tags, { Name = "orders" })
}

resource "aws_kms_key" "main" {
  policy = jsonencode({ Statement = [{ Effect = "Allow" }] })
  rules  = [{ a = 1 }, { a = 2 }]
  notes  = <<-EOT
    two "lines"
    of ${var.stage}
  EOT
}

resource "aws_appautoscaling_target" "reads" {
  service_namespace  = "dynamodb"
  resource_id        = "table/${aws_dynamodb_table.this.name}"
  scalable_dimension = "dynamodb:table:ReadCapacityUnits"
  min_capacity       = 5
  max_capacity       = 500
}

resource "aws_appautoscaling_policy" "of_reads" {
  name               = "reads"
  policy_type        = "TargetTrackingScaling"
  resource_id        = aws_appautoscaling_target.reads.resource_id
  scalable_dimension = aws_appautoscaling_target.reads.scalable_dimension
  service_namespace  = aws_appautoscaling_target.reads.service_namespace

  target_tracking_scaling_policy_configuration {
    target_value = 65

    predefined_metric_specification {
      predefined_metric_type = "DynamoDBReadCapacityUtilization"
    }
  }
}
"#;

#[test]
fn what_a_configuration_computes_is_read_as_far_as_it_is_known() {
    let import = import_hcl(CONFIGURATION);
    let model = &import.model;
    let table = &model.tables[0];
    assert_eq!(table.name.value, "orders");
    assert_eq!(model.region.as_ref().unwrap().value, "eu-central-1");
    assert_eq!(table.billing.value, Billing::Provisioned);
    let read = &table.throughput.read.as_ref().unwrap().value;
    assert_eq!((read.units, read.min, read.max, read.target), (Some(20), Some(5), Some(500), Some(0.65)));
    assert_eq!(table.throughput.write.as_ref().unwrap().value.units, Some(10));
    assert_eq!(table.indexes[0].key.partition[0].name, "at");
    assert_eq!(table.encryption, Encryption::CustomerManaged);
    assert_eq!(table.ttl.as_ref().unwrap().value, "expiresAt");
    let notes = import.notes.0.join("\n");
    assert!(notes.contains("orders: its name is made when the configuration is applied"), "{notes}");
}

#[test]
fn a_configuration_comes_back_through_its_model_file() {
    let import = import_hcl(CONFIGURATION);
    let again = export_hcl(&read(&import.text));
    assert_eq!(parsed(&again), parsed(CONFIGURATION), "{again}");
    for line in [
        "depends_on     = [aws_kms_key.main]",
        "ignore_changes = [read_capacity, global_secondary_index]",
        "kms_key_arn = aws_kms_key.main.arn",
        "dynamic \"local_secondary_index\" {",
        "backend \"s3\" {",
    ] {
        assert!(again.contains(line), "{line}:\n{again}");
    }
}

#[test]
fn a_changed_model_changes_its_table_and_leaves_the_rest() {
    let import = import_hcl(CONFIGURATION);
    let text = import.text.replace("ttl: expiresAt", "ttl: endsAt");
    let mut expected = parsed(CONFIGURATION);
    expected["resource"]["aws_dynamodb_table"]["this"]["ttl"][0]["attribute_name"] = "endsAt".into();
    assert_eq!(parsed(&export_hcl(&read(&text))), expected);
}

#[test]
fn the_two_syntaxes_are_one_document() {
    let golden = include_str!("golden/shop.tf");
    let document = parsed(golden);
    let import = import("terraform-json", &document);
    assert_eq!(parsed(&export_hcl(&import.model)), document);
    round_trip("terraform-json", &with_unknown_members(&document));
}

#[test]
fn attributes_and_blocks_that_a_model_does_not_know_come_back_in_hcl() {
    let mut document = parsed(include_str!("golden/shop.tf"));
    let tables = document["resource"]["aws_dynamodb_table"].as_object_mut().unwrap();
    for table in tables.values_mut() {
        table["restore_to_latest_time"] = true.into();
        table["timeouts"] = json!([{ "create": "10m" }]);
        table["global_secondary_index"][0]["warm_throughput"] = json!([{ "read_units_per_second": 12000 }]);
    }
    let text = (format::format("terraform").unwrap().syntax.print)(&document);
    let again = export_hcl(&read(&import_hcl(&text).text));
    assert_eq!(parsed(&again), document, "{again}");
}

#[test]
fn quotes_and_line_ends_in_texts_come_back() {
    let text = r#"a = "x \"y\"\n${var.z["k"]} $${not} %%{not} \\ é""#;
    let expected = json!({ "a": "x \"y\"\n${var.z[\"k\"]} $${not} %%{not} \\ é" });
    assert_eq!(parsed(text), expected);
    let printed = (format::format("terraform").unwrap().syntax.print)(&json!({ "locals": expected }));
    assert_eq!(parsed(&printed)["locals"], expected, "{printed}");
}

#[test]
fn a_single_block_needs_no_list_in_json() {
    let document = json!({ "resource": { "aws_dynamodb_table": { "shop": [{
        "name": "shop", "billing_mode": "PAY_PER_REQUEST", "hash_key": "id",
        "attribute": { "name": "id", "type": "B" }, "ttl": { "attribute_name": "end", "enabled": true },
    }] } } });
    let import = round_trip("terraform-json", &document);
    let table = &import.model.tables[0];
    assert_eq!(table.key.as_ref().unwrap().partition[0].kind, item::Type::B);
    assert_eq!(table.ttl.as_ref().unwrap().value, "end");
    assert!(export_hcl(&import.model).contains("ttl {"), "a block is one in HCL too");
}

#[test]
fn a_plan_tells_every_value() {
    let table = |name: &str| {
        json!({
            "name": name, "billing_mode": "PAY_PER_REQUEST", "hash_key": "id", "range_key": "",
            "attribute": [{ "name": "id", "type": "S" }, { "name": "at", "type": "N" }],
            "global_secondary_index": [{
                "name": "byTime", "projection_type": "INCLUDE", "non_key_attributes": ["total"],
                "hash_key": null, "range_key": null,
                "key_schema": [
                    { "attribute_name": "id", "key_type": "HASH" }, { "attribute_name": "at", "key_type": "RANGE" },
                ],
                "read_capacity": 0, "write_capacity": 0,
            }],
            "read_capacity": 0, "write_capacity": 0, "stream_enabled": false, "stream_view_type": "",
            "ttl": [{ "attribute_name": "", "enabled": false }], "server_side_encryption": [],
            "point_in_time_recovery": [{ "enabled": true }], "tags": { "a": "${b}" }, "replica": [],
        })
    };
    let resource = |address: &str, values: Value| {
        json!({
            "address": address, "mode": "managed", "type": "aws_dynamodb_table", "name": "this", "values": values,
        })
    };
    let document = json!({
        "format_version": "1.2", "terraform_version": "1.11.4",
        "planned_values": { "root_module": {
            "resources": [resource("aws_dynamodb_table.this", table("first"))],
            "child_modules": [{ "resources": [
                resource("module.m.aws_dynamodb_table.this[0]", table("second")),
            ] }],
        } },
        "configuration": { "provider_config": { "aws": { "expressions": {
            "region": { "constant_value": "eu-west-1" },
        } } } },
    });
    let model = import("terraform-plan", &document).model;
    let names: Vec<&str> = model.tables.iter().map(|table| table.name.value.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(model.region.as_ref().unwrap().value, "eu-west-1");
    let table = &model.tables[0];
    assert_eq!(
        (table.billing.value, table.stream.is_none(), table.ttl.is_none()),
        (Billing::OnDemand, true, true)
    );
    assert_eq!(table.tags, [("a".to_owned(), "${b}".to_owned())]);
    assert_eq!(table.indexes[0].key.sort[0].name, "at");
    assert!(table.pitr.as_ref().unwrap().value);
}

#[test]
fn deep_nesting_is_refused_and_does_not_end_the_process() {
    let format = format::format("terraform").unwrap();
    for odd in ["[", "(", "{", "!", "-", "a ? ", "\"${", "a[", "f("] {
        assert!(format::import(format, &format!("a = {}", odd.repeat(100_000))).is_err(), "{odd}");
    }
}

#[test]
fn anything_in_the_place_of_a_table_is_refused_or_read_without_a_panic() {
    for odd in [json!("x"), json!({}), json!({ "name": 5, "attribute": "x", "ttl": [1], "tags": [1] })] {
        let document =
            json!({ "resource": { "aws_dynamodb_table": { "t": odd } }, "locals": [5], "provider": 1 });
        let _ = format::import(format::format("terraform-json").unwrap(), &document.to_string());
    }
}

/// The model of a folder in `modules/`.
fn of_modules(folder: &str) -> model_format::Import {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/modules").join(folder);
    let load = |path: &str| {
        let mut files: Vec<_> =
            std::fs::read_dir(root.join(path)).ok()?.map(|file| file.expect("a file").path()).collect();
        files.sort();
        let texts: Vec<String> = files
            .iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "tf"))
            .map(|file| std::fs::read_to_string(file).expect("a readable file"))
            .collect();
        Some(texts.join("\n"))
    };
    let text = load(".").expect("a folder");
    let plan = model_format::plan_of_modules(&text, &load).expect("tables in modules");
    let format = model_format::detect(&plan).expect("a known format");
    assert_eq!(format.name, "terraform-plan");
    model_format::import(format, &plan).unwrap_or_else(|error| panic!("{}", error.0))
}

#[test]
fn tables_of_local_modules_are_read_with_the_arguments_of_each_call() {
    let import = of_modules("shop");
    let names: Vec<&str> = import.model.tables.iter().map(|table| table.name.value.as_str()).collect();
    assert_eq!(names, ["shop-dev-audit", "shop-dev-orders", "shop-dev-carts"]);
    for part in ["partition: customerId", "sort: placedAt", "ttl: expiresAt", "byStatus", "partition: cartId"]
    {
        assert!(import.text.contains(part), "no `{part}` in\n{}", import.text);
    }
    let unread = "module.queue: its source git::https://example.com/queue.git is not here";
    assert!(import.notes.0.iter().any(|note| note.starts_with(unread)), "{:?}", import.notes);
    assert!(import.text.contains(unread), "the file says so, too:\n{}", import.text);
}

#[test]
fn the_tables_of_the_registrys_module_are_read_from_its_arguments() {
    let import = of_modules("registry");
    for part in
        ["partition: userId", "startedAt: number", "ttl: expiresAt", "pitr: true", "byToken", "device"]
    {
        assert!(import.text.contains(part), "no `{part}` in\n{}", import.text);
    }
}

#[test]
fn what_only_a_plan_knows_of_a_module_is_reported() {
    let import = of_modules("unknown");
    for part in ["shop-orders", "shop-carts", "sort: placedAt", "partition: userId"] {
        assert!(import.text.contains(part), "no `{part}` in\n{}", import.text);
    }
    assert!(!import.text.contains("ttl:"), "the registry's module has it off by default:\n{}", import.text);
    let notes = [
        "module.table[\"orders\"]: only a plan knows `key_arn`: the module's default instead",
        "module.table[\"carts\"].aws_dynamodb_table.this: only a plan knows `dynamic replica`: left out",
        "module.sessions.aws_dynamodb_table.this: `autoscaling_enabled` has no place in a model",
    ];
    for note in notes {
        assert!(import.notes.0.iter().any(|one| one == note), "no `{note}` in {:#?}", import.notes.0);
    }
}

#[test]
fn a_configuration_without_tables_in_modules_is_no_plan() {
    let load = |_: &str| Some("module \"again\" { source = \"./again\" }".to_owned());
    let own =
        "resource \"aws_dynamodb_table\" \"t\" { name = \"t\" }\nmodule \"again\" { source = \"./again\" }";
    assert_eq!(model_format::plan_of_modules(own, &load), None, "a module that calls itself ends");
    assert_eq!(model_format::plan_of_modules("this is { not HCL", &load), None);
}
