# Inside Weft's own repository the module is that of the same commit, as the replace in go.mod says
# of the code. A repository of yours has neither.
module "weft" {
  source = "../../../infra/terraform"
}
