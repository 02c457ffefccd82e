//! CloudFormation templates: short forms, computed values, scaling, names that have to stay.

use model::model::{Billing, Encryption, Model, StreamView};
use model_format::{self as format, Import};
use serde_json::{Value, json};

use super::support::{export, import, read, round_trip, with_unknown_members};

fn import_yaml(text: &str) -> Import {
    let format = format::detect(text).unwrap_or_else(|| panic!("not recognised:\n{text}"));
    assert_eq!(format.name, "cloudformation");
    format::import(format, text).unwrap_or_else(|error| panic!("{}", error.0))
}

fn export_yaml(model: &Model) -> String {
    format::export(format::format("cloudformation").unwrap(), model).unwrap().text
}

fn parsed(text: &str) -> Value {
    (format::format("cloudformation").unwrap().syntax.parse)(text).unwrap()
}

const SHORT_FORMS: &str = r#"
AWSTemplateFormatVersion: 2010-09-09
Description: Orders
Parameters:
  Stage: { Type: String, Default: dev }
  Reads: { Type: Number, Default: "25" }
Conditions:
  IsProduction: !Equals [!Ref Stage, prod]
Resources:
  OrderTable:
    Type: AWS::DynamoDB::Table
    Condition: IsProduction
    DeletionPolicy: !If [IsProduction, Retain, Delete]
    Properties:
      TableName: !Sub "${AWS::StackName}-orders-${Stage}"
      BillingMode: PROVISIONED
      ProvisionedThroughput: { ReadCapacityUnits: !Ref Reads, WriteCapacityUnits: "10" }
      AttributeDefinitions:
        - { AttributeName: PK, AttributeType: S }
        - { AttributeName: at, AttributeType: N }
      KeySchema:
        - { AttributeName: PK, KeyType: HASH }
        - { AttributeName: at, KeyType: RANGE }
      GlobalSecondaryIndexes:
        - IndexName: byTime
          KeySchema: [{ AttributeName: at, KeyType: HASH }]
          Projection: { ProjectionType: ALL }
          ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 }
      SSESpecification: { SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: !GetAtt Key.Arn }
      StreamSpecification: { StreamViewType: NEW_IMAGE }
      TimeToLiveSpecification: { AttributeName: expiresAt, Enabled: "true" }
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: !If [IsProduction, true, false] }
      Tags:
        - { Key: stage, Value: !Ref Stage }
        - { Key: account, Value: 012345678901 }
  Key:
    Type: AWS::KMS::Key
    Properties: { KeyPolicy: { Statement: [{ Effect: Allow, Action: "kms:*", Resource: "*" }] } }
  Reading:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties:
      ServiceNamespace: dynamodb
      ResourceId: !Join [/, [table, !Ref OrderTable]]
      ScalableDimension: dynamodb:table:ReadCapacityUnits
      MinCapacity: 5
      MaxCapacity: 500
      RoleARN: !ImportValue scaling-role
  ReadingPolicy:
    Type: AWS::ApplicationAutoScaling::ScalingPolicy
    Properties:
      PolicyName: reading
      PolicyType: TargetTrackingScaling
      ScalingTargetId: !Ref Reading
      TargetTrackingScalingPolicyConfiguration:
        TargetValue: 50.5
        PredefinedMetricSpecification: { PredefinedMetricType: DynamoDBReadCapacityUtilization }
  Sessions:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      BillingMode: PAY_PER_REQUEST
Outputs:
  Arn: { Value: !GetAtt OrderTable.Arn, Export: { Name: !Sub "${AWS::StackName}:arn" } }
"#;

#[test]
fn what_a_template_computes_is_read_as_far_as_it_is_known() {
    let import = import_yaml(SHORT_FORMS);
    let [orders, sessions] = import.model.tables.as_slice() else { panic!("two tables") };
    assert_eq!((orders.name.value.as_str(), sessions.name.value.as_str()), ("orders-dev", "Sessions"));
    assert_eq!((orders.billing.value, sessions.billing.value), (Billing::Provisioned, Billing::OnDemand));
    let read = &orders.throughput.read.as_ref().unwrap().value;
    assert_eq!((read.units, read.min, read.max, read.target), (Some(25), Some(5), Some(500), Some(0.505)));
    assert_eq!(orders.throughput.write.as_ref().unwrap().value.units, Some(10));
    assert_eq!(orders.encryption, Encryption::CustomerManaged);
    assert_eq!(orders.stream.as_ref().unwrap().value, StreamView::New);
    assert_eq!(orders.ttl.as_ref().unwrap().value, "expiresAt");
    assert_eq!(orders.tags[0], ("stage".to_owned(), "dev".to_owned()));
    let notes = import.notes.0.join("\n");
    assert!(notes.contains("orders-dev: its name is made when the template is deployed"), "{notes}");
}

#[test]
fn a_template_comes_back_through_its_model_file() {
    let import = import_yaml(SHORT_FORMS);
    let again = export_yaml(&read(&import.text));
    assert_eq!(parsed(&again), parsed(SHORT_FORMS), "{again}");
    assert!(again.contains("TableName: !Sub \"${AWS::StackName}-orders-${Stage}\""), "{again}");
    assert!(again.contains("!GetAtt Key.Arn"), "{again}");
    assert!(again.contains("\"012345678901\""), "{again}");
}

#[test]
fn a_changed_model_changes_its_table_and_leaves_the_rest() {
    let import = import_yaml(SHORT_FORMS);
    let text = import.text.replace("ttl: expiresAt", "ttl: endsAt");
    assert_ne!(text, import.text);
    let again = parsed(&export_yaml(&read(&text)));
    let mut expected = parsed(SHORT_FORMS);
    let ttl = &mut expected["Resources"]["OrderTable"]["Properties"]["TimeToLiveSpecification"];
    *ttl = json!({ "AttributeName": "endsAt", "Enabled": "true" });
    assert_eq!(again, expected);
}

fn template(kind: &str, properties: Value) -> Value {
    json!({ "Resources": { "T": { "Type": kind, "Properties": properties } } })
}

fn keyed(rest: Value) -> Value {
    let mut properties = json!({
        "TableName": "shop",
        "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "B" }],
        "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
    });
    for (name, value) in rest.as_object().unwrap() {
        properties[name] = value.clone();
    }
    properties
}

#[test]
fn a_global_table_says_its_settings_for_each_replica() {
    let replica = |region: Value| {
        json!({
            "Region": region,
            "ReadProvisionedThroughputSettings": { "ReadCapacityUnits": 30 },
            "PointInTimeRecoverySpecification": { "PointInTimeRecoveryEnabled": true },
            "DeletionProtectionEnabled": true,
            "Tags": [{ "Key": "a", "Value": "b" }],
        })
    };
    let properties = keyed(json!({
        "BillingMode": "PROVISIONED",
        "WriteProvisionedThroughputSettings": { "WriteCapacityAutoScalingSettings": {
            "MinCapacity": 5, "MaxCapacity": 50, "SeedCapacity": 9,
            "TargetTrackingScalingPolicyConfiguration": { "TargetValue": 80, "DisableScaleIn": true },
        } },
        "StreamSpecification": { "StreamViewType": "NEW_AND_OLD_IMAGES" },
        "Replicas": [replica(json!("us-east-1")), replica(json!({ "Ref": "AWS::Region" }))],
    }));
    let import = round_trip("cloudformation-json", &template("AWS::DynamoDB::GlobalTable", properties));
    let table = &import.model.tables[0];
    let write = &table.throughput.write.as_ref().unwrap().value;
    assert_eq!((write.units, write.min, write.max, write.target), (Some(9), Some(5), Some(50), Some(0.8)));
    assert_eq!(table.throughput.read.as_ref().unwrap().value.units, Some(30));
    assert_eq!(table.replicas.iter().map(|one| one.value.as_str()).collect::<Vec<_>>(), ["us-east-1"]);
    assert!(table.pitr.as_ref().unwrap().value && table.deletion_protection.as_ref().unwrap().value);
    assert_eq!(table.tags.len(), 1);
}

#[test]
fn a_global_table_of_one_region_stays_one_when_its_model_changes() {
    let properties = keyed(json!({
        "BillingMode": "PAY_PER_REQUEST",
        "Replicas": [{ "Region": "eu-west-1", "DeletionProtectionEnabled": false }],
    }));
    let document = template("AWS::DynamoDB::GlobalTable", properties);
    let text = round_trip("cloudformation-json", &document).text;
    let (changed, _) =
        export("cloudformation-json", &text.replace("deletion-protection: false", "pitr: true"));
    let table = &changed["Resources"]["T"];
    assert_eq!(table["Type"], "AWS::DynamoDB::GlobalTable");
    let backed_up = json!({ "PointInTimeRecoveryEnabled": true });
    let replicas = json!([{ "Region": "eu-west-1", "PointInTimeRecoverySpecification": backed_up }]);
    assert_eq!(table["Properties"]["Replicas"], replicas);
}

#[test]
fn members_that_a_model_does_not_know_come_back() {
    let golden = include_str!("golden/shop.template.yaml");
    round_trip("cloudformation-json", &with_unknown_members(&parsed(golden)));
}

#[test]
fn a_template_in_json_can_be_written_as_yaml_with_all_it_said() {
    let document = parsed(SHORT_FORMS);
    let import = import("cloudformation-json", &document);
    assert_eq!(parsed(&export_yaml(&import.model)), document);
}

#[test]
fn two_tables_of_one_name_are_told_apart() {
    let one = json!({ "Type": "AWS::DynamoDB::Table", "Properties": keyed(json!({})) });
    let document = json!({ "Resources": { "First": one, "Second": one } });
    let import = round_trip("cloudformation-json", &document);
    let names: Vec<&str> = import.model.tables.iter().map(|table| table.name.value.as_str()).collect();
    assert_eq!(names, ["shop", "Second"]);
}

#[test]
fn names_that_yaml_would_misread_are_quoted() {
    let text = "model: m\ntable: { name: abc, partition: \"on\", tags: { \"yes\": \"2026-01-01\", b: \"0x1F\" } }\n\
         entities: { A: { attributes: { \"on\": string } } }\n";
    let written = export_yaml(&read(text));
    for quoted in ["AttributeName: \"on\"", "Key: \"yes\"", "Value: \"2026-01-01\"", "Value: \"0x1F\""] {
        assert!(written.contains(quoted), "{quoted}:\n{written}");
    }
}

#[test]
fn anything_in_the_place_of_a_table_is_refused_or_read_without_a_panic() {
    for odd in [json!(null), json!("x"), json!([1]), json!({ "KeySchema": "x", "SSESpecification": "y" })] {
        for kind in ["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"] {
            let text = template(kind, odd.clone()).to_string();
            let _ = format::import(format::format("cloudformation").unwrap(), &text);
        }
    }
    let odd_parts = keyed(json!({
        "ProvisionedThroughput": "x", "SSESpecification": "y", "GlobalSecondaryIndexes": ["z", 5],
        "Replicas": ["a", { "Region": 5, "SSESpecification": { "KMSMasterKeyId": 1 } }], "Tags": { "a": 1 },
    }));
    let text = template("AWS::DynamoDB::GlobalTable", odd_parts).to_string();
    let _ = format::import(format::format("cloudformation").unwrap(), &text);
}
