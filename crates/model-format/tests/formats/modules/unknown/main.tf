data "aws_kms_key" "own" {
  key_id = "alias/own"
}

locals {
  tables = {
    orders = { hash = "id", range = "placedAt" }
    carts  = { hash = "id" }
  }
}

module "table" {
  source   = "./table"
  for_each = local.tables

  name    = replace("shop_${each.key}", "_", "-")
  hash    = each.value.hash
  range   = try(each.value.range, null)
  key_arn = data.aws_kms_key.own.arn
}

module "sessions" {
  source = "terraform-aws-modules/dynamodb-table/aws"

  name                = "sessions"
  hash_key            = "userId"
  ttl_attribute_name  = "expiresAt"
  autoscaling_enabled = true
  attributes          = [{ name = "userId", type = "S" }]
}
