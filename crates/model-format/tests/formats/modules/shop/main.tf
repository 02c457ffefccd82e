variable "stage" {
  type    = string
  default = "dev"
}

locals {
  prefix = "shop-${var.stage}"
  tables = {
    orders = { hash_key = "customerId", range_key = "placedAt", ttl = "expiresAt" }
    carts  = { hash_key = "cartId", range_key = null, ttl = null }
  }
}

provider "aws" {
  region = "eu-central-1"
}

module "table" {
  source   = "./modules/table"
  for_each = local.tables

  name      = "${local.prefix}-${each.key}"
  hash_key  = each.value.hash_key
  range_key = each.value.range_key
  ttl       = each.value.ttl
  indexes   = each.key == "orders" ? [{ name = "byStatus", hash_key = "status", range_key = "placedAt" }] : []
}

module "queue" {
  source = "git::https://example.com/queue.git"
}

resource "aws_dynamodb_table" "audit" {
  name         = "${local.prefix}-audit"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}
