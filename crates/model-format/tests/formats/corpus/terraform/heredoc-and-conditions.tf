variable "prod" { default = true }
resource "aws_dynamodb_table" "orders" {
  name         = var.prod ? "orders" : "orders-dev"
  billing_mode = var.prod ? "PAY_PER_REQUEST" : "PROVISIONED"
  hash_key     = "PK"
  attribute {
    name = "PK"
    type = "S"
  }
}
resource "aws_iam_policy" "read" {
  name   = "read"
  policy = <<-EOT
    { "Version": "2012-10-17" }
  EOT
}
