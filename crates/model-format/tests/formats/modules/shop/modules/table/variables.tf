variable "name" { type = string }
variable "hash_key" { type = string }
variable "range_key" {
  type    = string
  default = null
}
variable "ttl" {
  type    = string
  default = null
}
variable "indexes" {
  type    = list(map(string))
  default = []
}
