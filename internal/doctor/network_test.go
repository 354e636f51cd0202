package doctor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// inVPC are the answers of a deployment in two subnets of a VPC with these route tables and
// endpoints. The first subnet has a table of its own, private, and the second has that of the VPC.
func inVPC(private, main string, endpoints ...string) answers {
	a := deployed()
	for _, role := range []string{"api", "workflow", "activity", "timer", "dead", "tasks-reports"} {
		a["configuration weft-"+role]["VpcConfig"] = object{"VpcId": "vpc-1", "SubnetIds": []string{"subnet-1", "subnet-2"}, "SecurityGroupIds": []string{"sg-1"}}
	}
	variables := func(role string) object {
		return a["configuration weft-"+role]["Environment"].(object)["Variables"].(object)
	}
	variables("timer")["WEFT_PROBE"] = "weft-api"
	variables("api")["WEFT_BUCKET"] = "payloads"
	const local = "<item><destinationCidrBlock>10.0.0.0/16</destinationCidrBlock><gatewayId>local</gatewayId><state>active</state></item>"
	answer := func(text string) object { return object{"status": http.StatusOK, "xml": text} }
	a["DescribeRouteTables "] = answer("<DescribeRouteTablesResponse><routeTableSet>" +
		"<item><routeTableId>rtb-1</routeTableId><routeSet>" + local + private + "</routeSet><associationSet><item><subnetId>subnet-1</subnetId><main>false</main></item></associationSet></item>" +
		"<item><routeTableId>rtb-main</routeTableId><routeSet>" + local + main + "</routeSet><associationSet><item><main>true</main></item></associationSet></item>" +
		"</routeTableSet></DescribeRouteTablesResponse>")
	a["DescribeVpcEndpoints "] = answer("<DescribeVpcEndpointsResponse><vpcEndpointSet>" + strings.Join(endpoints, "") + "</vpcEndpointSet></DescribeVpcEndpointsResponse>")
	return a
}

// byDefault is a default route.
func byDefault(target, id, state string) string {
	return fmt.Sprintf("<item><destinationCidrBlock>0.0.0.0/0</destinationCidrBlock><%[1]s>%[2]s</%[1]s><state>%[3]s</state></item>", target, id, state)
}

// gatewayTo is an endpoint for route tables, and interfaceTo one with addresses in the subnets.
func gatewayTo(service string, tables ...string) string {
	return "<item><vpcEndpointType>Gateway</vpcEndpointType><serviceName>com.amazonaws.us-east-1." + service + "</serviceName><state>available</state><routeTableIdSet><item>" +
		strings.Join(tables, "</item><item>") + "</item></routeTableIdSet></item>"
}

func interfaceTo(service, state string, private bool) string {
	return fmt.Sprintf("<item><vpcEndpointType>Interface</vpcEndpointType><serviceName>com.amazonaws.us-east-1.%s</serviceName><state>%s</state><privateDnsEnabled>%v</privateDnsEnabled></item>", service, state, private)
}

// Functions in a VPC reach what they call by a NAT gateway, or by an endpoint for each service.
func TestNetwork(t *testing.T) {
	t.Parallel()
	nat, igw := byDefault("natGatewayId", "nat-1", "active"), byDefault("gatewayId", "igw-1", "active")
	all := []string{
		gatewayTo("dynamodb", "rtb-1", "rtb-main"), gatewayTo("s3", "rtb-1", "rtb-main"), interfaceTo("sqs", "available", true), interfaceTo("lambda", "available", true),
	}
	const reach = "ok network: functions in vpc-1 reach dynamodb, lambda, s3, sqs (security groups were not checked)"
	const do = " -> make these endpoints (with private DNS names, or in the subnet's route table), or a default route to a NAT gateway"
	hang := func(subnet string, services ...string) string {
		return "bad network: calls from " + subnet + " hang: there is neither a default route nor an endpoint com.amazonaws.us-east-1." + strings.Join(services, ", com.amazonaws.us-east-1.") + do
	}
	withBus := func(endpoints ...string) answers {
		a := inVPC("", "", endpoints...)
		a["configuration weft-activity"]["Environment"].(object)["Variables"].(object)["WEFT_EVENT_BUS"] = "default"
		return a
	}
	for name, c := range map[string]struct {
		a    answers
		want []string
	}{
		"no VPC":                  {deployed(), nil},
		"NAT":                     {inVPC(nat, nat), []string{reach}},
		"endpoints":               {inVPC("", "", all...), []string{reach}},
		"NAT in one":              {inVPC("", nat), []string{hang("subnet-1", "dynamodb", "lambda", "s3", "sqs")}},
		"nothing":                 {inVPC("", ""), []string{hang("subnet-1", "dynamodb", "lambda", "s3", "sqs"), hang("subnet-2", "dynamodb", "lambda", "s3", "sqs")}},
		"a gone NAT":              {inVPC(byDefault("natGatewayId", "nat-1", "blackhole"), nat, all...), []string{reach}},
		"one table only":          {inVPC("", "", gatewayTo("dynamodb", "rtb-1"), all[1], all[2], all[3]), []string{hang("subnet-2", "dynamodb")}},
		"no DNS names":            {inVPC("", "", all[0], all[1], interfaceTo("sqs", "available", false), all[3]), []string{hang("subnet-1", "sqs"), hang("subnet-2", "sqs")}},
		"no way to its event bus": {withBus(all...), []string{hang("subnet-1", "events"), hang("subnet-2", "events")}},
		"a way to its event bus": {withBus(append(all, interfaceTo("events", "available", true))...), []string{
			"ok network: functions in vpc-1 reach dynamodb, events, lambda, s3, sqs (security groups were not checked)",
		}},
		"not ready": {inVPC(nat, "", all[0], all[1], interfaceTo("sqs", "pending", true), all[3]), []string{hang("subnet-2", "sqs")}},
		"an internet gateway": {inVPC(nat, igw, all[:2]...), []string{
			"bad network: from subnet-2 an internet gateway is the only way, and a function has no public address: there is no endpoint com.amazonaws.us-east-1.lambda, com.amazonaws.us-east-1.sqs" +
				" -> choose subnets whose default route is a NAT gateway, or make these endpoints",
		}},
		"no right": {func() answers {
			a := inVPC(nat, nat)
			a["DescribeVpcEndpoints "] = object{"status": http.StatusForbidden, "xml": "<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>"}
			return a
		}(), []string{"warn network: not checked: EC2 answers UnauthorizedOperation -> give your credentials ec2:DescribeRouteTables and ec2:DescribeVpcEndpoints to check this"}},
		"no XML": {func() answers {
			a := inVPC(nat, nat)
			a["DescribeRouteTables "] = object{"status": http.StatusOK, "xml": "{}"}
			return a
		}(), []string{"warn network: not checked: EOF -> give your credentials ec2:DescribeRouteTables and ec2:DescribeVpcEndpoints to check this"}},
	} {
		var got []string
		for _, line := range text(examine(t, c.a)) {
			if strings.Contains(line, " network: ") {
				got = append(got, line)
			}
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
}
