terraform { required_version = ">= 1.6" }
provider "aws" { region = "eu-central-1" }
resource "aws_dynamodb_table" "orders" {
  name             = "orders"
  billing_mode     = "PAY_PER_REQUEST"
  hash_key         = "PK"
  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"
  deletion_protection_enabled = true
  attribute {
    name = "PK"
    type = "S"
  }
  replica { region_name = "eu-west-1" }
}
