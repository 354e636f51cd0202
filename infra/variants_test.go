package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// inputs has variables of the module; the others have their defaults.
type inputs map[string]any

// variants has the deployments that are compared. In at least one of them, each variable has
// another value than its default.
var variants = map[string]inputs{
	"http": {},
	"rest": {
		"api": "rest", "page": false, "bucket": "", "api_authorization": "NONE", "list": false, "build": "b1", "base_path": "/shop", "tracing": true,
		"throttling_rate": 7, "throttling_burst": 9, "concurrency": "small", "chain": false, "log_retention_days": 7, "architecture": "x86_64", "namespace": "ns",
		"metrics": "otlp", "log_level": "debug", "log_failures": "text", "redrive": true, "updates_in_flight": "none", "update_bytes_in_flight": "1000", "updates_in_total": "2000",
	},
	"rest_signed": {
		"metrics": "emf", "system_log_level": "INFO", "otlp_endpoint": "http://localhost:4318", "layers": []string{"arn:aws:lambda:us-east-1:000000000000:layer:collector:1"}, "api": "rest", "access_log": false, "kms": "arn:aws:kms:us-east-1:000000000000:key/1234",
		"payload_keys": []string{"arn:aws:kms:us-east-1:000000000000:key/5678"}, "payload_encryption": false, "pinning": true, "build": "b4", "rollout": "all-at-once", "alarms": false,
	},
	"url": {
		"subnet_ids": []string{"subnet-0a1"}, "security_group_ids": []string{"sg-0a1"}, "webhook_hosts": "*.example.com", "webhook_private": true, "webhook_epoch": 2, "event_bus": "orders",
		"payload_keys": []string{"create"}, "bucket": "create", "stream": true, "concurrency": "shared", "wait_hold": "1s",
		"api": "url", "cors_origins": []string{"https://a.example", "https://b.example"}, "deletion_protection": false, "dashboard": false,
	},
	"open": {
		"metrics": "off", "page": false, "api_authorization": "NONE", "jwt_scopes": []string{"s"}, "bucket": "payloads",
		"payload_keys": []string{"arn:aws:kms:us-east-1:000000000000:key/a", "arn:aws:kms:us-east-1:000000000000:key/b"},
	},
	"tasks": {
		"subnet_ids": []string{"subnet-0a1", "subnet-0b2"}, "security_group_ids": []string{"sg-0a1", "sg-0b2"}, "permissions_boundary": "arn:aws:iam::000000000000:policy/boundary", "role_path": "/apps/weft/",
		"event_bus": "arn:aws:events:us-east-1:000000000000:event-bus/orders",
		"pinning":   true, "build": "b3", "rollout": "canary", "kms": "create", "payload_keys": []string{"create"}, "redrive": true,
		"task_queues": map[string]map[string]any{
			"reports": {"memory": 2048, "timeout": 300, "visibility": 1900, "batch_size": 2, "maximum_concurrency": 4, "reserved_concurrency": 8, "rate": 0.5, "burst": 3},
			"slow":    {},
		},
	},
	"full": {
		"payload_keys": []string{"arn:aws:kms:us-east-1:000000000000:key/a", "create", "arn:aws:kms:us-east-1:000000000000:key/b"}, "compress": "zstd", "bucket": "create",
		"batches": false, "api_authorization": "JWT", "jwt_issuer": "https://issuer.example", "jwt_audience": []string{"a", "b"}, "jwt_scopes": []string{"s"}, "jwt_caller_claim": "client_id",
		"cors_origins": []string{"https://a.example"}, "kms": "create", "tracing": true,
		"alarm_topics": []string{"arn:aws:sns:us-east-1:000000000000:a", "arn:aws:sns:us-east-1:000000000000:b"}, "age_alarm_seconds": 1000, "probe": false, "slow_request_milliseconds": 500, "slow_requests_alarm": 3,
		"pinning": true, "build": "b2", "rollout": "linear", "memory": 512, "activity_memory": 1024, "workflow_timeout": 40, "workflow_visibility": 240, "activity_timeout": 100, "activity_visibility": 600,
		"max_receives": 4, "long_timer": "30s", "retention_days": 30, "check_commits": 5000, "workflow_batch_size": 9, "timer_batch_size": 8, "activity_batch_size": 7,
		"workflow_maximum_concurrency": 20, "timer_maximum_concurrency": 10, "activity_maximum_concurrency": 5,
		"api_reserved_concurrency": 3, "workflow_reserved_concurrency": 60, "activity_reserved_concurrency": 10, "activity_rate": 50, "activity_burst": 70,
	},
}

// packageFile is the path of the zip in variants.
const packageFile = "package.zip"

// variables returns all variables that a variant sets. The size of messages is one that a
// provider before 6.8 accepts, because the machine that plans may have such a provider.
func (in inputs) variables() inputs {
	all := inputs{"package": packageFile, "max_message_size": 262144}
	maps.Copy(all, in)
	return all
}

// parameters returns the same, as parameters of the template.
func (in inputs) parameters() map[string]string {
	all := map[string]string{}
	for name, value := range in.variables() {
		queues, is := value.(map[string]map[string]any)
		if name != "package" && !is {
			all[pascal(name)] = parameter(value)
		}
		for taskQueue, settings := range queues {
			for setting, value := range settings {
				all["Tasks"+pascal(taskQueue)+pascal(setting)] = parameter(value)
			}
		}
	}
	return all
}

// taskQueues returns the names of task queues, sorted: each has a part of its own in the
// template.
func (in inputs) taskQueues() []string {
	queues, _ := in["task_queues"].(map[string]map[string]any)
	return slices.Sorted(maps.Keys(queues))
}

// parameter returns a variable's value as the template writes it.
func parameter(value any) string {
	switch value := value.(type) {
	case bool:
		return map[bool]string{true: "on", false: "off"}[value]
	case []string:
		return strings.Join(value, ",")
	}
	return fmt.Sprint(value)
}

// pascal returns a Terraform name as CloudFormation would write it.
func pascal(name string) string {
	var all strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		all.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return all.String()
}

// A variant sets each variable that has a parameter.
func TestVariantsTryAll(t *testing.T) {
	t.Parallel()
	for name, v := range moduleVariables(t) {
		if slices.Contains(onlyTerraform, name) {
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(variants)), func(in inputs) bool {
			value, ok := in.variables()[name]
			return ok && parameter(value) != v.fallback
		}) {
			t.Errorf("no variant sets %s to another value than its default, %q", name, v.fallback)
		}
	}
}
