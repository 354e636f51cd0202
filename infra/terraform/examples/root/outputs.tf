output "url" {
  description = "The address of the API; paths begin with /v1."
  value       = module.weft.url
}

output "api_id" {
  description = "The id of the API."
  value       = module.weft.api_id
}

output "table" {
  description = "The name of the table."
  value       = module.weft.table
}

output "queue_urls" {
  description = "The URLs of the queues."
  value       = module.weft.queue_urls
}

output "dead_queue_urls" {
  description = "The URLs of the queues of dead letters."
  value       = module.weft.dead_queue_urls
}

output "function_names" {
  description = "The names of the functions."
  value       = module.weft.function_names
}

output "role_names" {
  description = "The names of the functions' roles."
  value       = module.weft.role_names
}
