package function

import "hash/fnv"

// splitParts is how many parts all workflow ids are divided into.
const splitParts = 10_000

// Split says which of two builds owns which runs while a deployment is rolled out. The zero value
// is a deployment that is not.
type Split struct {
	// Old is the build that is replaced, and Young the one that is rolled out; both are empty if
	// there is none.
	Old, Young string
	// Weight is the share of the workflows that Young has, from 0 to 1.
	Weight float64
}

// Owner returns the build that owns a run by its workflow and the build of its last task, or "" if
// no deployment is rolled out. A run whose last task Young has run stays with it, because only
// Young is certain to know what its code did.
func (s Split) Owner(workflowID, lastBuild string) string {
	if s.Young == "" {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(workflowID)) // a hash takes everything
	if lastBuild == s.Young || float64(h.Sum32()%splitParts) < splitParts*s.Weight {
		return s.Young
	}
	return s.Old
}
