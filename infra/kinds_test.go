package infra_test

import (
	"fmt"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// kind says what a resource of Terraform's is in CloudFormation.
type kind struct {
	is string
	// names maps attributes, at any depth, to properties. An empty property is not compared: AWS
	// makes it, or it has no counterpart. An attribute that is missing here fails the test.
	names map[string]string
	// of is the attribute that names the resource which in CloudFormation contains this one; empty
	// if there is none.
	of string
	// in is the containing property: this one is an element of it, or its whole value; empty adds
	// to the properties.
	in string
	// adjust changes properties that differ in another way.
	adjust func(properties map[string]any)
}

// identities are the properties that identify a resource among those of its type. A type with
// one resource has none.
var identities = map[string]string{
	"AWS::SQS::Queue": "QueueName", "AWS::IAM::Role": "RoleName", "AWS::Lambda::Function": "FunctionName", "AWS::Lambda::EventSourceMapping": "EventSourceArn", "AWS::Lambda::Alias": "FunctionName", "AWS::CodeDeploy::DeploymentGroup": "DeploymentGroupName",
	"AWS::Logs::LogGroup": "LogGroupName", "AWS::Lambda::Permission": "Principal", "AWS::CloudWatch::Alarm": "AlarmName", "AWS::Events::Rule": "Name",
	"AWS::KMS::Key": "Description", "AWS::KMS::Alias": "AliasName",
	"AWS::ApiGatewayV2::Route": "RouteKey", "AWS::ApiGateway::Resource": "PathPart", "AWS::ApiGateway::Method": "ResourceId",
}

// Properties that are lists of objects (other lists of one element in Terraform are objects in
// CloudFormation), that are objects with the user's names, and that are JSON in one or both.
var (
	lists    = []string{"AttributeDefinitions", "GlobalSecondaryIndexes", "Metrics", "Policies", "Targets", "MethodSettings", "ServerSideEncryptionConfiguration", "Rules"}
	verbatim = []string{"Variables", "Dimensions"}
	jsons    = []string{
		"RedrivePolicy", "RedriveAllowPolicy", "PolicyDocument", "AssumeRolePolicyDocument", "KeyPolicy", "DashboardBody", "Format",
	}
)

// guard is the table that only the module has: destroy begins with it. SAM has protection for that.
const guard = "aws_dynamodb_table.guard"

var kinds = map[string]kind{
	"aws_dynamodb_table": {is: "AWS::DynamoDB::Table", adjust: adjustTable, names: map[string]string{
		"name": "TableName", "billing_mode": "BillingMode", "deletion_protection_enabled": "DeletionProtectionEnabled",
		"hash_key": "hash", "range_key": "range", "attribute": "AttributeDefinitions", "type": "AttributeType",
		"global_secondary_index": "GlobalSecondaryIndexes", "projection_type": "ProjectionType", "non_key_attributes": "NonKeyAttributes",
		"ttl": "TimeToLiveSpecification", "attribute_name": "AttributeName", "enabled": "Enabled",
		"point_in_time_recovery": "PointInTimeRecoverySpecification", "server_side_encryption": "SSESpecification", "kms_key_arn": "KMSMasterKeyId",
	}},
	"aws_sqs_queue": {is: "AWS::SQS::Queue", names: map[string]string{
		"name": "QueueName", "fifo_queue": "FifoQueue", "deduplication_scope": "DeduplicationScope", "fifo_throughput_limit": "FifoThroughputLimit",
		"visibility_timeout_seconds": "VisibilityTimeout", "message_retention_seconds": "MessageRetentionPeriod", "max_message_size": "MaximumMessageSize",
		"kms_master_key_id": "KmsMasterKeyId", "sqs_managed_sse_enabled": "SqsManagedSseEnabled",
		"redrive_policy": "RedrivePolicy", "redrive_allow_policy": "RedriveAllowPolicy", "arn": "", "url": "",
	}},
	"aws_lambda_function": {is: "AWS::Lambda::Function", adjust: adjustFunction, names: map[string]string{
		"function_name": "FunctionName", "role": "Role", "runtime": "Runtime", "handler": "Handler", "architectures": "Architectures",
		"memory_size": "MemorySize", "publish": "Publish", "layers": "Layers", "timeout": "Timeout", "reserved_concurrent_executions": "ReservedConcurrentExecutions",
		"environment": "Environment", "variables": "Variables", "logging_config": "LoggingConfig", "log_format": "LogFormat", "log_group": "LogGroup", "application_log_level": "ApplicationLogLevel", "system_log_level": "SystemLogLevel",
		"vpc_config": "VpcConfig", "subnet_ids": "SubnetIds", "security_group_ids": "SecurityGroupIds",
		"tracing_config": "TracingConfig", "mode": "Mode", "filename": "", "source_code_hash": "", "arn": "", "invoke_arn": "", "version": "",
	}},
	"aws_lambda_function_recursion_config": {is: "AWS::Lambda::Function", of: "function_name", names: map[string]string{
		"function_name": "", "recursive_loop": "RecursiveLoop",
	}},
	"aws_lambda_function_event_invoke_config": {is: "AWS::Lambda::EventInvokeConfig", names: map[string]string{
		"function_name": "FunctionName", "qualifier": "Qualifier",
		"maximum_event_age_in_seconds": "MaximumEventAgeInSeconds", "maximum_retry_attempts": "MaximumRetryAttempts",
	}},
	"aws_lambda_event_source_mapping": {is: "AWS::Lambda::EventSourceMapping", names: map[string]string{
		"event_source_arn": "EventSourceArn", "function_name": "FunctionName", "batch_size": "BatchSize",
		"function_response_types": "FunctionResponseTypes", "scaling_config": "ScalingConfig", "maximum_concurrency": "MaximumConcurrency",
	}},
	"aws_lambda_alias": {is: "AWS::Lambda::Alias", names: map[string]string{
		"name": "Name", "function_name": "FunctionName", "function_version": "FunctionVersion", "arn": "", "invoke_arn": "",
	}},
	"aws_codedeploy_app": {is: "AWS::CodeDeploy::Application", names: map[string]string{"name": "ApplicationName", "compute_platform": "ComputePlatform"}},
	"aws_codedeploy_deployment_group": {is: "AWS::CodeDeploy::DeploymentGroup", adjust: adjustGroup, names: map[string]string{
		"app_name": "ApplicationName", "deployment_group_name": "DeploymentGroupName", "service_role_arn": "ServiceRoleArn", "deployment_config_name": "DeploymentConfigName",
		"deployment_style": "DeploymentStyle", "deployment_type": "DeploymentType", "deployment_option": "DeploymentOption",
		"auto_rollback_configuration": "AutoRollbackConfiguration", "alarm_configuration": "AlarmConfiguration", "enabled": "Enabled", "events": "Events", "alarms": "Alarms",
		"outdated_instances_strategy": "",
	}},
	"aws_lambda_permission": {is: "AWS::Lambda::Permission", adjust: adjustPermission, names: map[string]string{
		"action": "Action", "qualifier": "Qualifier", "function_name": "FunctionName", "principal": "Principal", "source_arn": "SourceArn",
	}},
	"aws_lambda_function_url": {is: "AWS::Lambda::Url", names: map[string]string{
		"function_name": "TargetFunctionArn", "authorization_type": "AuthType", "invoke_mode": "InvokeMode", "cors": "Cors", "allow_origins": "AllowOrigins",
		"allow_methods": "AllowMethods", "allow_headers": "AllowHeaders", "expose_headers": "ExposeHeaders", "max_age": "MaxAge",
	}},
	"aws_iam_role": {is: "AWS::IAM::Role", names: map[string]string{
		"name": "RoleName", "name_prefix": "", "assume_role_policy": "AssumeRolePolicyDocument", "arn": "",
		"path": "Path", "permissions_boundary": "PermissionsBoundary",
	}},
	"aws_iam_role_policy": {is: "AWS::IAM::Role", of: "role", in: "Policies", names: map[string]string{
		"role": "", "name": "PolicyName", "policy": "PolicyDocument",
	}},
	"aws_kms_key": {is: "AWS::KMS::Key", names: map[string]string{
		"description": "Description", "enable_key_rotation": "EnableKeyRotation", "deletion_window_in_days": "PendingWindowInDays", "policy": "KeyPolicy",
		"arn": "", "key_id": "",
	}},
	"aws_kms_alias": {is: "AWS::KMS::Alias", names: map[string]string{"name": "AliasName", "target_key_id": "TargetKeyId"}},
	"aws_s3_bucket": {is: "AWS::S3::Bucket", names: map[string]string{"bucket": "", "force_destroy": ""}},
	"aws_s3_bucket_public_access_block": {is: "AWS::S3::Bucket", of: "bucket", in: "PublicAccessBlockConfiguration", names: map[string]string{
		"bucket": "", "block_public_acls": "BlockPublicAcls", "block_public_policy": "BlockPublicPolicy", "ignore_public_acls": "IgnorePublicAcls",
		"restrict_public_buckets": "RestrictPublicBuckets",
	}},
	"aws_s3_bucket_server_side_encryption_configuration": {is: "AWS::S3::Bucket", of: "bucket", in: "BucketEncryption", names: map[string]string{
		"bucket": "", "rule": "ServerSideEncryptionConfiguration", "apply_server_side_encryption_by_default": "ServerSideEncryptionByDefault",
		"sse_algorithm": "SSEAlgorithm", "kms_master_key_id": "KMSMasterKeyID", "bucket_key_enabled": "BucketKeyEnabled",
	}},
	"aws_s3_bucket_lifecycle_configuration": {is: "AWS::S3::Bucket", of: "bucket", in: "LifecycleConfiguration", names: map[string]string{
		"bucket": "", "rule": "Rules", "id": "Id", "status": "Status", "abort_incomplete_multipart_upload": "AbortIncompleteMultipartUpload",
		"days_after_initiation": "DaysAfterInitiation",
	}},
	"aws_s3_bucket_policy": {is: "AWS::S3::BucketPolicy", names: map[string]string{"bucket": "Bucket", "policy": "PolicyDocument"}},
	"aws_cloudwatch_log_group": {is: "AWS::Logs::LogGroup", names: map[string]string{
		"name": "LogGroupName", "retention_in_days": "RetentionInDays", "kms_key_id": "KmsKeyId", "arn": "",
	}},
	"aws_cloudwatch_event_rule": {is: "AWS::Events::Rule", names: map[string]string{
		"name": "Name", "schedule_expression": "ScheduleExpression", "arn": "",
	}},
	"aws_cloudwatch_event_target": {is: "AWS::Events::Rule", of: "rule", in: "Targets", names: map[string]string{
		"rule": "", "target_id": "Id", "arn": "Arn", "retry_policy": "RetryPolicy",
		"maximum_event_age_in_seconds": "MaximumEventAgeInSeconds", "maximum_retry_attempts": "MaximumRetryAttempts",
	}},
	"aws_cloudwatch_metric_alarm": {is: "AWS::CloudWatch::Alarm", adjust: adjustAlarm, names: map[string]string{
		"alarm_name": "AlarmName", "alarm_description": "AlarmDescription", "alarm_actions": "AlarmActions", "ok_actions": "OKActions",
		"comparison_operator": "ComparisonOperator", "threshold": "Threshold", "evaluation_periods": "EvaluationPeriods",
		"datapoints_to_alarm": "DatapointsToAlarm", "treat_missing_data": "TreatMissingData", "namespace": "Namespace", "metric_name": "MetricName",
		"dimensions": "Dimensions", "statistic": "Statistic", "period": "Period", "stat": "Stat",
		"metric_query": "Metrics", "id": "Id", "expression": "Expression", "label": "Label", "return_data": "ReturnData", "metric": "MetricStat",
	}},
	"aws_cloudwatch_dashboard": {is: "AWS::CloudWatch::Dashboard", names: map[string]string{
		"dashboard_name": "DashboardName", "dashboard_body": "DashboardBody",
	}},
	"aws_apigatewayv2_api": {is: "AWS::ApiGatewayV2::Api", names: map[string]string{
		"name": "Name", "protocol_type": "ProtocolType", "cors_configuration": "CorsConfiguration", "allow_origins": "AllowOrigins",
		"allow_methods": "AllowMethods", "allow_headers": "AllowHeaders", "expose_headers": "ExposeHeaders", "max_age": "MaxAge",
		"id": "", "execution_arn": "",
	}},
	"aws_apigatewayv2_integration": {is: "AWS::ApiGatewayV2::Integration", names: map[string]string{
		"api_id": "ApiId", "integration_type": "IntegrationType", "integration_uri": "IntegrationUri",
		"payload_format_version": "PayloadFormatVersion", "timeout_milliseconds": "TimeoutInMillis", "id": "",
	}},
	"aws_apigatewayv2_authorizer": {is: "AWS::ApiGatewayV2::Authorizer", names: map[string]string{
		"api_id": "ApiId", "name": "Name", "authorizer_type": "AuthorizerType", "identity_sources": "IdentitySource",
		"jwt_configuration": "JwtConfiguration", "issuer": "Issuer", "audience": "Audience", "id": "",
	}},
	"aws_apigatewayv2_route": {is: "AWS::ApiGatewayV2::Route", names: map[string]string{
		"api_id": "ApiId", "route_key": "RouteKey", "target": "Target", "authorization_type": "AuthorizationType",
		"authorizer_id": "AuthorizerId", "authorization_scopes": "AuthorizationScopes",
	}},
	"aws_apigatewayv2_stage": {is: "AWS::ApiGatewayV2::Stage", names: map[string]string{
		"api_id": "ApiId", "name": "StageName", "auto_deploy": "AutoDeploy", "default_route_settings": "DefaultRouteSettings",
		"throttling_rate_limit": "ThrottlingRateLimit", "throttling_burst_limit": "ThrottlingBurstLimit",
		"access_log_settings": "AccessLogSettings", "destination_arn": "DestinationArn", "format": "Format",
	}},
	"aws_api_gateway_rest_api": {is: "AWS::ApiGateway::RestApi", names: map[string]string{
		"name": "Name", "endpoint_configuration": "EndpointConfiguration", "types": "Types", "id": "", "root_resource_id": "", "execution_arn": "",
	}},
	"aws_api_gateway_resource": {is: "AWS::ApiGateway::Resource", names: map[string]string{
		"rest_api_id": "RestApiId", "parent_id": "ParentId", "path_part": "PathPart", "id": "",
	}},
	"aws_api_gateway_method": {is: "AWS::ApiGateway::Method", names: map[string]string{
		"rest_api_id": "RestApiId", "resource_id": "ResourceId", "http_method": "HttpMethod", "authorization": "AuthorizationType",
	}},
	"aws_api_gateway_integration": {is: "AWS::ApiGateway::Method", of: "resource_id", in: "Integration", names: map[string]string{
		"rest_api_id": "", "resource_id": "", "http_method": "", "type": "Type", "integration_http_method": "IntegrationHttpMethod",
		"uri": "Uri", "timeout_milliseconds": "TimeoutInMillis",
	}},
	"aws_api_gateway_deployment": {is: "AWS::ApiGateway::Deployment", names: map[string]string{"rest_api_id": "RestApiId", "triggers": "", "id": ""}},
	"aws_api_gateway_stage": {is: "AWS::ApiGateway::Stage", names: map[string]string{
		"rest_api_id": "RestApiId", "deployment_id": "DeploymentId", "stage_name": "StageName", "xray_tracing_enabled": "TracingEnabled",
		"access_log_settings": "AccessLogSetting", "destination_arn": "DestinationArn", "format": "Format",
	}},
	"aws_api_gateway_method_settings": {is: "AWS::ApiGateway::Stage", of: "stage_name", in: "MethodSettings", adjust: adjustSettings, names: map[string]string{
		"rest_api_id": "", "stage_name": "", "method_path": "path", "settings": "settings",
		"throttling_rate_limit": "ThrottlingRateLimit", "throttling_burst_limit": "ThrottlingBurstLimit",
	}},
}

// adjustTable writes keys as lists, names that differ by place, and removes the table's name, which
// the template leaves to CloudFormation.
func adjustTable(p map[string]any) {
	keySchema(p)
	delete(p, "TableName")
	for _, one := range p["AttributeDefinitions"].([]any) {
		rename(one, "TableName", "AttributeName")
	}
	for _, one := range p["GlobalSecondaryIndexes"].([]any) {
		index := one.(map[string]any)
		rename(index, "TableName", "IndexName")
		keySchema(index)
		index["Projection"] = map[string]any{"ProjectionType": index["ProjectionType"], "NonKeyAttributes": index["NonKeyAttributes"]}
		delete(index, "ProjectionType")
		delete(index, "NonKeyAttributes")
	}
	rename(p["PointInTimeRecoverySpecification"], "Enabled", "PointInTimeRecoveryEnabled")
	if encryption, ok := p["SSESpecification"].(map[string]any); ok {
		rename(encryption, "Enabled", "SSEEnabled")
		encryption["SSEType"] = "KMS"
	}
}

func keySchema(p map[string]any) {
	p["KeySchema"] = []any{
		map[string]any{"AttributeName": p["hash"], "KeyType": "HASH"}, map[string]any{"AttributeName": p["range"], "KeyType": "RANGE"},
	}
	delete(p, "hash")
	delete(p, "range")
}

func rename(v any, from, to string) {
	p := v.(map[string]any)
	p[to] = p[from]
	delete(p, from)
}

// adjustPermission writes the alias as the template does, in the ARN of the function.
func adjustPermission(p map[string]any) {
	if alias, ok := p["Qualifier"]; ok {
		p["FunctionName"] = lambdahost.ARN("lambda", fmt.Sprint("function:", p["FunctionName"], ":", alias))
		delete(p, "Qualifier")
	}
}

// adjustGroup writes the alarms as objects.
func adjustGroup(p map[string]any) {
	watched, ok := p["AlarmConfiguration"].(map[string]any)
	if !ok {
		return
	}
	var alarms []any
	for _, name := range watched["Alarms"].([]any) {
		alarms = append(alarms, map[string]any{"Name": name})
	}
	watched["Alarms"] = alarms
}

func adjustFunction(p map[string]any) {
	if p["ReservedConcurrentExecutions"] == -1.0 {
		delete(p, "ReservedConcurrentExecutions")
	}
}

// adjustAlarm writes the dimensions as a list, and separates a metric from its statistic.
func adjustAlarm(p map[string]any) {
	dimensions(p)
	metrics, _ := p["Metrics"].([]any)
	for _, one := range metrics {
		if stat, ok := one.(map[string]any)["MetricStat"].(map[string]any); ok {
			dimensions(stat)
			stat["Metric"] = map[string]any{"Namespace": stat["Namespace"], "MetricName": stat["MetricName"], "Dimensions": stat["Dimensions"]}
			for name := range stat["Metric"].(map[string]any) {
				delete(stat, name)
			}
		}
	}
}

func dimensions(p map[string]any) {
	given, ok := p["Dimensions"].(map[string]any)
	if !ok {
		return
	}
	var list []any
	for name, value := range given {
		list = append(list, map[string]any{"Name": name, "Value": value})
	}
	p["Dimensions"] = list
}

// adjustSettings writes the methods and the paths of settings as the template does: */* is all
// methods of all paths.
func adjustSettings(p map[string]any) {
	if p["path"] == "*/*" {
		delete(p, "path")
		p["HttpMethod"], p["ResourcePath"] = "*", "/*"
	}
	for name, value := range p["settings"].(map[string]any) {
		p[name] = value
	}
	delete(p, "settings")
}
