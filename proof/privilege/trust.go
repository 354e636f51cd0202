package privilege

import "fmt"

// ParseTrust returns the services that may assume a role, according to its trust policy. It returns
// an error for anything that it does not know: other principals, conditions, denials.
func ParseTrust(document any) (services []string, err error) {
	d, _ := document.(map[string]any)
	list, ok := d["Statement"].([]any)
	if !ok {
		list = []any{d["Statement"]}
	}
	for _, v := range list {
		s, _ := v.(map[string]any)
		principal, _ := s["Principal"].(map[string]any)
		if only(s, "Effect", "Action", "Principal") != nil || only(principal, "Service") != nil || s["Effect"] != Allow || s["Action"] != "sts:AssumeRole" {
			return nil, fmt.Errorf("privilege: the trust policy %v does not just let services assume the role", document)
		}
		more, err := texts(principal["Service"])
		if err != nil {
			return nil, fmt.Errorf("privilege: the principal of a trust policy: %w", err)
		}
		services = append(services, more...)
	}
	return services, nil
}
