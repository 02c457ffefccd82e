terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.29"
    }
  }
}

provider "aws" {
  region = "eu-central-1"
}

variable "encryption_key_arn" {
  type        = string
  description = "The ARN of the KMS key that tables are encrypted with"
}

variable "encryption_key_arn_us_east_1" {
  type        = string
  description = "The ARN of the KMS key that tables are encrypted with in us-east-1"
}

variable "encryption_key_arn_eu_west_1" {
  type        = string
  description = "The ARN of the KMS key that tables are encrypted with in eu-west-1"
}

resource "aws_dynamodb_table" "orders" {
  name                        = "orders"
  billing_mode                = "PROVISIONED"
  read_capacity               = 50
  write_capacity              = 5
  hash_key                    = "PK"
  range_key                   = "at"
  table_class                 = "STANDARD_INFREQUENT_ACCESS"
  stream_enabled              = true
  stream_view_type            = "NEW_AND_OLD_IMAGES"
  deletion_protection_enabled = true

  tags = {
    cost-centre = "42"
    "$${team}"  = "a \"b\""
  }

  attribute {
    name = "PK"
    type = "S"
  }

  attribute {
    name = "at"
    type = "N"
  }

  attribute {
    name = "tenant"
    type = "S"
  }

  attribute {
    name = "kind"
    type = "S"
  }

  attribute {
    name = "status"
    type = "S"
  }

  global_secondary_index {
    name               = "byTenant"
    projection_type    = "INCLUDE"
    non_key_attributes = ["total"]
    read_capacity      = 50
    write_capacity     = 5

    key_schema {
      attribute_name = "tenant"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "kind"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "at"
      key_type       = "RANGE"
    }

    key_schema {
      attribute_name = "status"
      key_type       = "RANGE"
    }
  }

  global_secondary_index {
    name            = "byStatus"
    projection_type = "KEYS_ONLY"
    read_capacity   = 7
    write_capacity  = 20

    key_schema {
      attribute_name = "status"
      key_type       = "HASH"
    }
  }

  local_secondary_index {
    name            = "local"
    projection_type = "ALL"
    range_key       = "status"
  }

  ttl {
    attribute_name = "expiresAt"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled = true
  }

  lifecycle {
    ignore_changes = [write_capacity]
  }
}

resource "aws_dynamodb_table" "sessions" {
  name                        = "sessions"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "id"
  stream_enabled              = true
  stream_view_type            = "NEW_AND_OLD_IMAGES"
  deletion_protection_enabled = false

  on_demand_throughput {
    max_write_request_units = 4000
  }

  attribute {
    name = "id"
    type = "S"
  }

  attribute {
    name = "userId"
    type = "S"
  }

  global_secondary_index {
    name            = "byUser"
    projection_type = "KEYS_ONLY"

    on_demand_throughput {
      max_read_request_units = 100
    }

    key_schema {
      attribute_name = "userId"
      key_type       = "HASH"
    }
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.encryption_key_arn
  }

  replica {
    region_name                 = "us-east-1"
    propagate_tags              = true
    deletion_protection_enabled = false
    kms_key_arn                 = var.encryption_key_arn_us_east_1
  }

  replica {
    region_name                 = "eu-west-1"
    propagate_tags              = true
    deletion_protection_enabled = false
    kms_key_arn                 = var.encryption_key_arn_eu_west_1
  }
}

resource "aws_appautoscaling_target" "orders_write" {
  service_namespace  = "dynamodb"
  resource_id        = "table/${aws_dynamodb_table.orders.name}"
  scalable_dimension = "dynamodb:table:WriteCapacityUnits"
  min_capacity       = 5
  max_capacity       = 1000
}

resource "aws_appautoscaling_target" "orders_byTenant_write" {
  service_namespace  = "dynamodb"
  resource_id        = "table/${aws_dynamodb_table.orders.name}/index/byTenant"
  scalable_dimension = "dynamodb:index:WriteCapacityUnits"
  min_capacity       = 5
  max_capacity       = 1000
}

resource "aws_appautoscaling_target" "orders_byStatus_write" {
  service_namespace  = "dynamodb"
  resource_id        = "table/${aws_dynamodb_table.orders.name}/index/byStatus"
  scalable_dimension = "dynamodb:index:WriteCapacityUnits"
  min_capacity       = 10
  max_capacity       = 40
}

resource "aws_appautoscaling_policy" "orders_write" {
  name               = "orders/write"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.orders_write.service_namespace
  resource_id        = aws_appautoscaling_target.orders_write.resource_id
  scalable_dimension = aws_appautoscaling_target.orders_write.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value       = 62.5
    scale_in_cooldown  = 60
    scale_out_cooldown = 120

    predefined_metric_specification {
      predefined_metric_type = "DynamoDBWriteCapacityUtilization"
    }
  }
}

resource "aws_appautoscaling_policy" "orders_byTenant_write" {
  name               = "orders/index/byTenant/write"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.orders_byTenant_write.service_namespace
  resource_id        = aws_appautoscaling_target.orders_byTenant_write.resource_id
  scalable_dimension = aws_appautoscaling_target.orders_byTenant_write.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value       = 62.5
    scale_in_cooldown  = 60
    scale_out_cooldown = 120

    predefined_metric_specification {
      predefined_metric_type = "DynamoDBWriteCapacityUtilization"
    }
  }
}

resource "aws_appautoscaling_policy" "orders_byStatus_write" {
  name               = "orders/index/byStatus/write"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.orders_byStatus_write.service_namespace
  resource_id        = aws_appautoscaling_target.orders_byStatus_write.resource_id
  scalable_dimension = aws_appautoscaling_target.orders_byStatus_write.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = 70

    predefined_metric_specification {
      predefined_metric_type = "DynamoDBWriteCapacityUtilization"
    }
  }
}
