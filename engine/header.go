package engine

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/history"
)

// MaxHeader is the size of the largest header, names and values together, in bytes: it is stored with each activity.
const MaxHeader = 4 << 10

// CheckHeader reports what is wrong with a header.
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

// Header is what travels with the run.
func (in *Instance) Header() history.Header { return in.header }

// SetHeader changes what travels on from the run, to the activities and children that it starts from now on.
func (in *Instance) SetHeader(h history.Header) error {
	in.s.MustRun("change the header")
	if err := CheckHeader(h); err != nil {
		return err
	}
	in.header = h
	return nil
}

// AroundWorkflows adds something that stands around all workflows of the registry; what it is package workflow knows.
func (r *Registry) AroundWorkflows(interceptor any) {
	r.aroundWorkflows = append(r.aroundWorkflows, interceptor)
}

// AroundActivities adds something that stands around all attempts at activities of the registry: it returns what is called in
// the place of next. The first that is added is the outermost.
func (r *Registry) AroundActivities(around func(next ActivityCode) ActivityCode) {
	r.aroundActivities = append(r.aroundActivities, around)
}

// Code is the code of an activity with all that stands around it.
func (r *Registry) Code(a *Activity) ActivityCode {
	code := a.Run
	for i := len(r.aroundActivities) - 1; i >= 0; i-- {
		code = r.aroundActivities[i](code)
	}
	return code
}

// Interceptors is what stands around the workflow, the outermost first. Nothing of a program's stands around a schedule.
func (in *Instance) Interceptors() []any {
	if in.workflow == nil || in.workflow.registry == nil || ownType(in.workflow.Name) {
		return nil
	}
	return in.workflow.registry.aroundWorkflows
}
