//! The policies that AWS manages and that make sense here, by their ARN.

/// The ARNs that an access file may name instead of a policy of its own.
pub const MANAGED_POLICIES: [&str; 3] = [
    "arn:aws:iam::aws:policy/AdministratorAccess",
    "arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess",
    "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess",
];

/// The document of a managed policy, in our own words: actions of services that are not served here are left out.
pub fn managed_policy(arn: &str) -> Option<&'static str> {
    Some(match arn.strip_prefix("arn:aws:iam::aws:policy/")? {
        "AdministratorAccess" => {
            r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#
        }
        "AmazonDynamoDBFullAccess" => {
            r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": [
                "dynamodb:*", "dax:*",
                "application-autoscaling:DeleteScalingPolicy", "application-autoscaling:DeregisterScalableTarget",
                "application-autoscaling:Describe*", "application-autoscaling:PutScalingPolicy",
                "application-autoscaling:RegisterScalableTarget",
                "cloudwatch:DeleteAlarms", "cloudwatch:Describe*", "cloudwatch:Get*", "cloudwatch:PutMetricAlarm",
                "lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping", "lambda:GetEventSourceMapping",
                "lambda:GetFunctionConfiguration", "lambda:ListEventSourceMappings", "lambda:ListFunctions",
                "lambda:UpdateEventSourceMapping"
            ], "Resource": "*"}}"#
        }
        "AmazonDynamoDBReadOnlyAccess" => {
            r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": [
                "dynamodb:BatchGetItem", "dynamodb:Describe*", "dynamodb:List*", "dynamodb:GetItem",
                "dynamodb:GetResourcePolicy", "dynamodb:Query", "dynamodb:Scan", "dynamodb:PartiQLSelect",
                "dynamodb:GetRecords", "dynamodb:GetShardIterator",
                "application-autoscaling:Describe*",
                "cloudwatch:Describe*", "cloudwatch:Get*", "cloudwatch:List*",
                "lambda:GetEventSourceMapping", "lambda:ListEventSourceMappings", "lambda:ListFunctions"
            ], "Resource": "*"}}"#
        }
        _ => return None,
    })
}
