# Inside Weft's own repository the module is that of the same commit, as the code is by the replace
# in go.mod. Your repository has neither.
module "weft" {
  source = "../../../infra/terraform"
}
