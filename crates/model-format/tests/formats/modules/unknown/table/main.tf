variable "name" {}
variable "hash" {}
variable "range" {
  default = null
}
variable "key_arn" {
  default = null
}

data "aws_regions" "all" {}

resource "aws_dynamodb_table" "this" {
  name         = var.name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = var.hash
  range_key    = var.range

  dynamic "attribute" {
    for_each = compact([var.hash, var.range])
    content {
      name = attribute.value
      type = "S"
    }
  }

  dynamic "replica" {
    for_each = data.aws_regions.all.names
    content {
      region_name = replica.value
    }
  }
}
