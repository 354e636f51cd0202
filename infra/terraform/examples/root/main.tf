# A root that uses the module. Yours has source =
# "github.com/seed-41655fb1/weft//infra/terraform?ref=<version>".
module "weft" {
  source = "../.."

  name    = var.name
  package = var.package

  architecture        = var.architecture
  api                 = var.api
  api_authorization   = var.api_authorization
  alarm_topics        = var.alarm_topics
  max_message_size    = var.max_message_size
  deletion_protection = var.deletion_protection
}
