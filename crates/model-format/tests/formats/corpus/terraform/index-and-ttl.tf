# comments are not kept
resource "aws_dynamodb_table" "orders" {
  name = "orders"
  billing_mode = "PAY_PER_REQUEST"
  hash_key = "PK"
  attribute { 
    name = "PK" 
    type = "S" 
  }
  attribute {
    name = "at"
    type = "N"
  }
  ttl {
    attribute_name = "expiresAt"
    enabled = true
  }
  point_in_time_recovery { enabled = true }
  global_secondary_index {
    name = "byTime"
    hash_key = "PK"
    range_key = "at"
    projection_type = "INCLUDE"
    non_key_attributes = ["total"]
  }
  tags = { Team = "blue" }
}
