locals { attributes = { PK = "S", SK = "S" } }
resource "aws_dynamodb_table" "each" {
  for_each     = toset(["users", "teams"])
  name         = each.key
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "PK"
  dynamic "attribute" {
    for_each = local.attributes
    content {
      name = attribute.key
      type = attribute.value
    }
  }
}
