package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/internal/settings"
)

// How many places of a table are looked at, and how many items at each. The places are spread
// evenly over the hashes of the keys, so one long history fills at most one of them.
const (
	samplePlaces = 16
	sampleItems  = 4
)

// Namespaces looks at up to 64 items of a table, and returns how many are of each namespace. Those
// that are not of Weft are counted under the empty name. It costs about 16 read units, and some
// hundred if items are as large as they can be.
func Namespaces(ctx context.Context, tables *dynamodb.Client, table string) (map[string]int, error) {
	all := map[string]int{}
	for place := range int32(samplePlaces) {
		out, err := tables.Scan(ctx, &dynamodb.ScanInput{
			TableName: &table, Limit: aws.Int32(sampleItems), Segment: aws.Int32(place), TotalSegments: aws.Int32(samplePlaces), ProjectionExpression: aws.String("pk"),
		})
		if err != nil {
			return nil, err
		}
		for _, item := range out.Items {
			pk, _ := item["pk"].(*types.AttributeValueMemberS)
			if pk == nil {
				all[""]++
				continue
			}
			name, _, found := strings.Cut(pk.Value, "/")
			if !found {
				name = ""
			}
			all[name]++
		}
	}
	return all, nil
}

// defaultNamespace is the namespace of functions that are not given one.
const defaultNamespace = "default"

// namespaceOf returns the namespace of a function with these variables.
func namespaceOf(variables map[string]string) string {
	return cmp.Or(variables[settings.Variable("Namespace")], defaultNamespace)
}

// namespace checks that the functions have one namespace, and that the table has runs of no other.
func (f *findings) namespace(ctx context.Context, a *AWS, functions map[string]deployedFunction) {
	const check = "namespace"
	used := map[string][]string{}
	for _, role := range a.roles() {
		if d := functions[role]; d.variables != nil {
			used[namespaceOf(d.variables)] = append(used[namespaceOf(d.variables)], role)
		}
	}
	names := slices.Sorted(maps.Keys(used))
	switch len(names) {
	case 0: // no function could be read, which is a finding
	case 1:
		f.others(ctx, a, check, names[0])
	default:
		var who []string
		for _, name := range names {
			verb := "use"
			if len(used[name]) == 1 {
				verb = "uses"
			}
			who = append(who, fmt.Sprintf("%s %s %s", strings.Join(used[name], ", "), verb, name))
		}
		f.bad(check, "deploy again, with the namespace of the runs", "the functions differ: %s", strings.Join(who, "; "))
	}
}

// others checks whose items the table has.
func (f *findings) others(ctx context.Context, a *AWS, check, own string) {
	found := ask(ctx, f, check, "dynamodb:Scan", func(ctx context.Context) (*map[string]int, error) {
		found, err := Namespaces(ctx, a.tables, a.Table)
		return &found, err
	})
	if found == nil {
		return
	}
	all, foreign, mine := 0, (*found)[""], (*found)[own]
	var others []string
	for _, name := range slices.Sorted(maps.Keys(*found)) {
		all += (*found)[name]
		if name != own && name != "" {
			others = append(others, name)
		}
	}
	switch whose := strings.Join(others, ", "); {
	case all == 0:
		f.ok(check, "it is %s, and the table is empty", own)
	case mine == 0 && len(others) > 0:
		f.bad(check, "set Namespace="+others[0]+" again, unless another deployment continues these runs",
			"it is %s, and all %d items that were looked at are of %s: the functions do not see these runs", own, all-foreign, whose)
	case len(others) > 0:
		f.warn(check, "if its own was changed, change it back: runs of the other one are not continued",
			"it is %s, and %d of %d items that were looked at are of %s", own, all-mine-foreign, all, whose)
	case foreign > 0:
		f.warn(check, "give each program a table of its own", "it is %s, and %d of %d items that were looked at are not of Weft", own, foreign, all)
	default:
		f.ok(check, "it is %s, as that of all %d items that were looked at", own, all)
	}
}
