package privilege

import (
	"fmt"
	"maps"
	"slices"
)

// Grant is what a role must allow because AWS itself uses it, whatever the function does, or what
// it must deny to the function because only AWS is to use it.
type Grant struct {
	// Why says who uses the grant, and for what. Source is the page of AWS's documentation that
	// demands these actions.
	Why, Source string
	Actions     []string
	// Denies says that the statement denies the actions.
	Denies bool
	// on returns the resources, or none if a role does not need the grant. A wildcard in a resource
	// is one that AWS demands.
	on func(Role) []string
	// where returns the conditions. It may be nil.
	where func(Role) []Condition
}

// interfaces are what Lambda does with the network interfaces of a function in a VPC.
var interfaces = []string{
	"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets",
	"ec2:UnassignPrivateIpAddresses",
}

// ByAWS has the grants by the names of their statements.
var ByAWS = map[string]Grant{
	"Poller": {
		Why:     "Lambda receives the messages of the function's queues, and deletes those that are done with",
		Source:  `Amazon SQS Developer Guide, "Configuring an Amazon SQS queue to trigger an AWS Lambda function"`,
		Actions: []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
		on:      func(r Role) []string { return r.Receives },
	},
	"Logs": {
		Why:     "Lambda writes what the function logs into streams of its log group, whose names Lambda makes",
		Source:  `AWS Lambda Developer Guide, "Sending Lambda function logs to CloudWatch Logs"`,
		Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"}, // the group exists already
		on:      func(r Role) []string { return []string{r.LogGroup + ":*"} },
	},
	"Tracing": {
		Why:     "Lambda sends traces to X-Ray, whose actions know no resources",
		Source:  `AWS Lambda Developer Guide, "Visualize Lambda function invocations using AWS X-Ray"; Service Authorization Reference, "Actions, resources, and condition keys for AWS X-Ray"`,
		Actions: []string{"xray:PutTelemetryRecords", "xray:PutTraceSegments"},
		on:      func(r Role) []string { return star(r.Traced) },
	},
	"Network": {
		Why:     "Lambda makes and removes the network interfaces of functions in a VPC, if there are `SubnetIds`",
		Source:  `AWS Lambda Developer Guide, "Giving Lambda functions access to resources in an Amazon VPC"; AWS Managed Policy Reference Guide, "AWSLambdaVPCAccessExecutionRole"`,
		Actions: interfaces,
		on:      func(r Role) []string { return star(r.InVPC) },
	},
	"NoNetwork": {
		Why:     "code has no use for that: only its requests have the ARN of the function",
		Source:  `AWS Lambda Developer Guide, "Using source function ARN to control function access behavior"`,
		Actions: interfaces,
		Denies:  true,
		on:      func(r Role) []string { return star(r.InVPC) },
		where: func(r Role) []Condition {
			return []Condition{{Operator: "ArnLike", Key: SourceFunction, Values: []string{r.Function, r.Function + ":*"}}}
		},
	},
	"Kms": {
		Why:    "DynamoDB, SQS and S3 (for a bucket that was made) use the key for the function, which may use it only through them",
		Source: `Amazon DynamoDB Developer Guide, "DynamoDB encryption at rest usage notes"; Amazon SQS Developer Guide, "Amazon SQS Key management"; Amazon S3 User Guide, "Reducing the cost of SSE-KMS with Amazon S3 Bucket Keys"`,
		Actions: []string{
			"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
		},
		on: func(r Role) []string {
			return slices.DeleteFunc([]string{r.Key}, func(key string) bool { return key == "" })
		},
		where: func(r Role) []Condition {
			services := []string{"dynamodb." + r.Region + ".amazonaws.com", "sqs." + r.Region + ".amazonaws.com"}
			if r.KeptInS3 {
				services = append(services, "s3."+r.Region+".amazonaws.com")
			}
			return []Condition{{Operator: "StringEquals", Key: "kms:ViaService", Values: services}}
		},
	},
}

func star(is bool) []string {
	if is {
		return []string{"*"}
	}
	return nil
}

func effect(denies bool) string {
	if denies {
		return Deny
	}
	return Allow
}

func (g Grant) resources(r Role) []string {
	if g.on == nil {
		return nil
	}
	return g.on(r)
}

// statement returns a copy of the grant's statement for a role. ok is false if the role does not
// need the grant.
func (g Grant) statement(sid string, r Role) (s Statement, ok bool) {
	s = Statement{Sid: sid, Effect: effect(g.Denies), Actions: slices.Clone(g.Actions), Resources: slices.Clone(g.resources(r))}
	if g.where != nil {
		s.Conditions = g.where(r)
	}
	return s, len(s.Resources) > 0
}

// Differs returns the differences between ByAWS and the statements of a role for AWS itself.
func Differs(r Role) (wrong []string) {
	for _, sid := range slices.Sorted(maps.Keys(ByAWS)) {
		var got, want []string
		for _, s := range r.Statements {
			if s.Sid == sid {
				got = append(got, s.Effect+" "+Text(s))
			}
		}
		if s, needed := ByAWS[sid].statement(sid, r); needed {
			want = append(want, s.Effect+" "+Text(s))
		}
		if !slices.Equal(got, want) {
			wrong = append(wrong, fmt.Sprintf("%s has\n\t%q\nand is to have\n\t%q", r.Name, got, want))
		}
	}
	return wrong
}
