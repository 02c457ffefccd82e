locals {
  key_attributes   = var.range_key == null ? [var.hash_key] : [var.hash_key, var.range_key]
  index_attributes = [for index in var.indexes : index.hash_key if index.hash_key != var.hash_key]
}

resource "aws_dynamodb_table" "this" {
  name         = var.name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = var.hash_key
  range_key    = var.range_key

  dynamic "attribute" {
    for_each = toset(concat(local.key_attributes, local.index_attributes))
    content {
      name = attribute.value
      type = "S"
    }
  }

  dynamic "global_secondary_index" {
    for_each = var.indexes
    iterator = index
    content {
      name            = index.value.name
      hash_key        = index.value.hash_key
      range_key       = index.value.range_key
      projection_type = "ALL"
    }
  }

  dynamic "ttl" {
    for_each = var.ttl == null ? [] : [var.ttl]
    content {
      attribute_name = ttl.value
      enabled        = true
    }
  }
}
