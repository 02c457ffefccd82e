use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";
const READ: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::210987654321:root"},"Action":"dynamodb:GetItem"}]}"#;
const WRITE: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::210987654321:root"},"Action":"dynamodb:PutItem"}]}"#;
/// READ, as someone may write it.
const READ_AGAIN: &str = r#"{"Statement": {"Action": ["dynamodb:GetItem"], "Principal": {"AWS": ["210987654321"]}, "Effect": "Allow"}, "Version": "2012-10-17"}"#;
const NOT_FOUND: &str = "Resource-based policy not found for the provided ResourceArn: \
                         arn:aws:dynamodb:us-east-1:123456789012:table/Table";

async fn put(database: &Database, policy: &str) -> Value {
    database.ok("PutResourcePolicy", json!({"ResourceArn": ARN, "Policy": policy})).await["RevisionId"].take()
}

on_every_store! {
    async fn a_policy_is_kept_by_revisions(database) {
        database.with_table("Table").await;
        let get = json!({"ResourceArn": ARN});
        database.refused("GetResourcePolicy", get.clone(), "PolicyNotFoundException", NOT_FOUND).await;
        let first = put(database, READ).await;
        assert_eq!(put(database, READ).await, first);
        assert_eq!(put(database, READ_AGAIN).await, first, "blanks, order and lists of one make no other policy");
        let second = put(database, WRITE).await;
        assert_eq!(first, "1800000000000", "a revision is the time of the change");
        assert_eq!(second, "1800000000001", "a later revision is greater, even within a millisecond");
        assert_eq!(database.restarted().await.ok("GetResourcePolicy", get).await, json!({"Policy": WRITE, "RevisionId": second}));
    }

    async fn a_change_that_expects_another_revision_is_refused(database) {
        database.with_table("Table").await;
        let expecting = |revision: &Value| json!({"ResourceArn": ARN, "Policy": READ, "ExpectedRevisionId": revision});
        let delete = |revision: &Value| json!({"ResourceArn": ARN, "ExpectedRevisionId": revision});
        let refused = async |operation: &str, input: Value, expected: &str, found: &str| {
            let message = format!(
                "Resource-based policy not found for the provided ResourceArn: Requested update for policy with \
                 revision id {expected}, but {found}");
            database.refused(operation, input, "PolicyNotFoundException", &message).await;
        };
        let none = "table Table has no associated policy.";
        refused("PutResourcePolicy", expecting(&json!("1")), "1", none).await;
        refused("DeleteResourcePolicy", delete(&json!("1")), "1", none).await;
        assert_eq!(database.ok("DeleteResourcePolicy", json!({"ResourceArn": ARN})).await, json!({}));
        let revision = database.ok("PutResourcePolicy", expecting(&json!("NO_POLICY"))).await["RevisionId"].take();
        let other = "the policy associated to target table Table has revision id 1800000000000.";
        refused("PutResourcePolicy", expecting(&json!("NO_POLICY")), "NO_POLICY", other).await;
        refused("PutResourcePolicy", expecting(&json!("1")), "1", other).await;
        refused("DeleteResourcePolicy", delete(&json!("1")), "1", other).await;
        assert_eq!(database.ok("DeleteResourcePolicy", delete(&revision)).await, json!({"RevisionId": revision}));
        database.refused("GetResourcePolicy", json!({"ResourceArn": ARN}), "PolicyNotFoundException", NOT_FOUND).await;
    }

    async fn the_removal_of_a_policy_is_a_revision_too(database) {
        database.with_table("Table").await;
        put(database, READ).await;
        let delete = json!({"ResourceArn": ARN});
        assert_eq!(database.ok("DeleteResourcePolicy", delete.clone()).await, json!({"RevisionId": "1800000000000"}));
        assert_eq!(database.ok("DeleteResourcePolicy", delete).await, json!({"RevisionId": "1800000000001"}));
        assert_eq!(put(database, READ).await, "1800000000002");
    }

    async fn only_the_callers_own_tables_have_policies(database) {
        database.with_table("Table").await;
        let refused = async |arn: &str, name: &str, message: &str| {
            for (operation, input) in [
                ("GetResourcePolicy", json!({"ResourceArn": arn})),
                ("PutResourcePolicy", json!({"ResourceArn": arn, "Policy": READ})),
                ("DeleteResourcePolicy", json!({"ResourceArn": arn})),
            ] {
                database.refused(operation, input, name, message).await;
            }
        };
        let missing = format!("{ARN}x");
        refused(&missing, "ResourceNotFoundException", "Requested resource not found: Table: Tablex not found").await;
        let account = ARN.replace("123456789012", "210987654321");
        refused(&account, "ValidationException", "This action is only supported by accounts that match the resource owner’s account.").await;
        let region = ARN.replace("us-east-1", "eu-west-1");
        let message = format!("One or more parameter values were invalid: Invalid resource Arn: {region}");
        refused(&region, "ValidationException", &message).await;
    }

    async fn a_document_that_is_no_policy_is_refused(database) {
        database.with_table("Table").await;
        let refused = async |policy: &str, message: &str| {
            let input = json!({"ResourceArn": ARN, "Policy": policy});
            database.refused("PutResourcePolicy", input, "ValidationException", message).await;
        };
        let invalid = "One or more parameter values were invalid: Invalid policy document: ";
        refused("{", &format!("{invalid}Syntax error at position (1,1)")).await;
        refused(r#"{"Statement": [], "Other": 1}"#, &format!("{invalid}Syntax error at position (1,25)")).await;
        refused(r#"{"Statement": []}"#, &format!("{invalid}a policy needs at least one statement")).await;
        refused(&READ.replace("Allow", "Perhaps"), &format!("{invalid}statement 1: Effect is Allow or Deny, not 'Perhaps'")).await;
        let principal = "One or more parameter values were invalid: Invalid principal in policy document.";
        refused(&READ.replace("arn:aws:iam::210987654321:root", "somebody"), principal).await;
        let unbounded = "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to \
                         ensure least-privilege form of access";
        refused(&READ.replace(r#"{"AWS":"arn:aws:iam::210987654321:root"}"#, "\"*\""), unbounded).await;
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(20 * 1024));
        refused(&long, "One or more parameter values were invalid: Resource policy size exceeds the limit of 20480 bytes").await;
    }

    async fn a_table_is_made_with_its_policy(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], "ResourcePolicy": READ,
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST",
        })).await;
        assert_eq!(database.ok("GetResourcePolicy", json!({"ResourceArn": ARN})).await["Policy"], READ);
    }
}
