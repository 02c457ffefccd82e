variable "stage" {
  type    = string
  default = "dev"
}
locals {
  name = "${var.stage}-orders"
}
resource "aws_dynamodb_table" "orders" {
  name           = local.name
  read_capacity  = 5
  write_capacity = 6
  hash_key       = "PK"
  attribute {
    name = "PK"
    type = "S"
  }
  lifecycle { prevent_destroy = true }
}
output "arn" { value = aws_dynamodb_table.orders.arn }
