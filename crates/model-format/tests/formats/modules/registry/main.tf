module "sessions" {
  source  = "terraform-aws-modules/dynamodb-table/aws"
  version = "~> 4.0"

  name               = "sessions"
  hash_key           = "userId"
  range_key          = "startedAt"
  ttl_enabled        = true
  ttl_attribute_name = "expiresAt"
  point_in_time_recovery_enabled = true

  attributes = [
    { name = "userId", type = "S" },
    { name = "startedAt", type = "N" },
    { name = "token", type = "S" },
  ]

  global_secondary_indexes = [
    { name = "byToken", hash_key = "token", projection_type = "INCLUDE", non_key_attributes = ["device"] },
  ]
}
