package engine

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxHeader is the size of the largest header, names and values together, in bytes: it is stored
// with each activity.
const MaxHeader = 4 << 10

// CheckHeader returns what is wrong with a header, or nil.
func CheckHeader(h history.Header) error {
	for _, f := range h {
		if err := CheckName("name of a header field", f.Name); err != nil {
			return err
		}
	}
	if n := h.Size(); n > MaxHeader {
		return fmt.Errorf("the header has %d bytes: give at most %d, names and values together, and pass larger things by reference", n, MaxHeader)
	}
	return nil
}

// Header returns the header of the run.
func (in *Instance) Header() history.Header { return in.header }

// SetHeader replaces the header, for the activities and children that the run starts from now on.
func (in *Instance) SetHeader(h history.Header) error {
	in.s.MustRun("change the header")
	if err := CheckHeader(h); err != nil {
		return err
	}
	in.header = h
	return nil
}

// AroundWorkflows adds an interceptor of all workflows of the registry. Package workflow knows its
// type.
func (r *Registry) AroundWorkflows(interceptor any) {
	r.aroundWorkflows = append(r.aroundWorkflows, interceptor)
}

// AroundActivities adds an interceptor of all attempts at activities of the registry: it returns
// the code to call in place of next. The first that is added is the outermost.
func (r *Registry) AroundActivities(around func(next ActivityCode) ActivityCode) {
	r.aroundActivities = append(r.aroundActivities, around)
}

// Code returns the code of an activity within its interceptors. An activity of Weft's own has none.
func (r *Registry) Code(a *Activity) ActivityCode {
	code := a.Run
	if OwnType(a.Name) {
		return code
	}
	for i := len(r.aroundActivities) - 1; i >= 0; i-- {
		code = r.aroundActivities[i](code)
	}
	return code
}

// Interceptors returns the interceptors of the workflow, the outermost first. A workflow
// of Weft's own has none.
func (in *Instance) Interceptors() []any {
	if in.workflow == nil || in.workflow.registry == nil || OwnType(in.workflow.Name) {
		return nil
	}
	return in.workflow.registry.aroundWorkflows
}
