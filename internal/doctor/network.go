package doctor

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/settings"
)

// route is a route of a route table.
type route struct {
	To       string `xml:"destinationCidrBlock"`
	Gateway  string `xml:"gatewayId"`
	NAT      string `xml:"natGatewayId"`
	State    string `xml:"state"`
	Instance string `xml:"instanceId"`
}

// routeTable is a route table of a VPC. Without a subnet, an association is that of the VPC.
type routeTable struct {
	ID           string  `xml:"routeTableId"`
	Routes       []route `xml:"routeSet>item"`
	Associations []struct {
		Subnet string `xml:"subnetId"`
		Main   bool   `xml:"main"`
	} `xml:"associationSet>item"`
}

// endpoint is an endpoint of a VPC.
type endpoint struct {
	Kind    string   `xml:"vpcEndpointType"`
	Service string   `xml:"serviceName"`
	State   string   `xml:"state"`
	Tables  []string `xml:"routeTableIdSet>item"`
	Private bool     `xml:"privateDnsEnabled"`
}

// routing is what a VPC has of what leads to AWS's services.
type routing struct {
	tables    []routeTable
	endpoints []endpoint
}

// tableOf returns the route table of a subnet: its own, or that of the VPC.
func (r *routing) tableOf(subnet string) routeTable {
	var main routeTable
	for _, t := range r.tables {
		for _, a := range t.Associations {
			if a.Subnet == subnet {
				return t
			}
			if a.Main {
				main = t
			}
		}
	}
	return main
}

// leavesBy returns the target of the default route of a table; "" if it has none that works.
func (t *routeTable) leavesBy() string {
	for _, r := range t.Routes {
		if r.To == "0.0.0.0/0" && r.State != "blackhole" {
			return cmp.Or(r.NAT, r.Gateway, r.Instance, "another target")
		}
	}
	return ""
}

// hasEndpoint reports whether an endpoint takes requests from a subnet with this table.
func (r *routing) hasEndpoint(service string, t *routeTable) bool {
	return slices.ContainsFunc(r.endpoints, func(e endpoint) bool {
		is := strings.HasSuffix(e.Service, "."+service) && strings.EqualFold(e.State, "available")
		return is && (e.Private || slices.Contains(e.Tables, t.ID))
	})
}

// servicesOf returns the services that the functions of a deployment call, by their names in those
// of endpoints.
func servicesOf(functions map[string]deployedFunction) []string {
	all := map[string]bool{"dynamodb": true, "sqs": true}
	for _, f := range functions {
		is := func(setting string) bool { return f.variables[settings.Variable(setting)] != "" }
		all["s3"] = all["s3"] || is("Bucket")
		all["kms"] = all["kms"] || is("PayloadKey")
		all["events"] = all["events"] || is("EventBus")
		all["lambda"] = all["lambda"] || is("Probe") || is("Rollout") || f.variables[settings.Variable("Pinning")] == "on"
	}
	maps.DeleteFunc(all, func(_ string, needed bool) bool { return !needed })
	return slices.Sorted(maps.Keys(all))
}

// network checks that functions in a VPC reach the services that they call: by an endpoint, or by a
// default route to something with a public address. It looks at no security groups.
func (f *findings) network(ctx context.Context, a *AWS, functions map[string]deployedFunction) {
	const check = "network"
	subnets := map[string][]string{} // by their VPC
	for _, d := range functions {
		if d.vpc != nil && aws.ToString(d.vpc.VpcId) != "" {
			subnets[*d.vpc.VpcId] = append(subnets[*d.vpc.VpcId], d.vpc.SubnetIds...)
		}
	}
	for _, vpc := range slices.Sorted(maps.Keys(subnets)) {
		var r routing
		err := within(ctx, func(ctx context.Context) (err error) {
			r, err = routingOf(ctx, a.Config, vpc)
			return err
		})
		if err != nil {
			f.warn(check, "give your credentials ec2:DescribeRouteTables and ec2:DescribeVpcEndpoints to check this", "not checked: %v", err)
			return
		}
		before := len(*f)
		slices.Sort(subnets[vpc])
		for _, subnet := range slices.Compact(subnets[vpc]) {
			f.subnet(a, &r, subnet, servicesOf(functions))
		}
		if len(*f) == before {
			f.ok(check, "functions in %s reach %s (security groups were not checked)", vpc, strings.Join(servicesOf(functions), ", "))
		}
	}
}

// subnet checks that requests from a subnet reach the services.
func (f *findings) subnet(a *AWS, r *routing, subnet string, services []string) {
	const check = "network"
	t := r.tableOf(subnet)
	by := t.leavesBy()
	var missing []string
	for _, service := range services {
		if !r.hasEndpoint(service, &t) {
			missing = append(missing, "com.amazonaws."+a.Config.Region+"."+service)
		}
	}
	switch {
	case len(missing) == 0, by != "" && !strings.HasPrefix(by, "igw-"):
	case by != "":
		f.bad(check, "choose subnets whose default route is a NAT gateway, or make these endpoints", "from %s an internet gateway is the only way, and a function has no public address: there is no endpoint %s", subnet, strings.Join(missing, ", "))
	default:
		f.bad(check, "make these endpoints (with private DNS names, or in the subnet's route table), or a default route to a NAT gateway", "calls from %s hang: there is neither a default route nor an endpoint %s", subnet, strings.Join(missing, ", "))
	}
}

// routingOf reads the route tables and the endpoints of a VPC.
func routingOf(ctx context.Context, c aws.Config, vpc string) (r routing, err error) {
	var tables struct {
		All []routeTable `xml:"routeTableSet>item"`
	}
	var endpoints struct {
		All []endpoint `xml:"vpcEndpointSet>item"`
	}
	if err := describe(ctx, c, "DescribeRouteTables", vpc, &tables); err != nil {
		return r, err
	}
	err = describe(ctx, c, "DescribeVpcEndpoints", vpc, &endpoints)
	return routing{tables: tables.All, endpoints: endpoints.All}, err
}

// describe asks EC2 for what a VPC has. It answers all at once.
func describe(ctx context.Context, c aws.Config, action, vpc string, into any) error {
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}, "Filter.1.Name": {"vpc-id"}, "Filter.1.Value.1": {vpc}}
	return askForm(ctx, c, "ec2", "EC2", form, into)
}
