package alarms_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/proof/alarms"
)

// What the recorder of the functions writes begins the alarms of its deployment, and no other.
func TestRecorded(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := emf.New(&log, "shop", emf.Options{Now: func() time.Time { return began }})
	r.Observe(t.Context(), &observe.Task{Failure: "panic", Stuck: true})
	r.Observe(t.Context(), &observe.Task{Failure: "panic", Stuck: true})
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	data, err := alarms.ReadEMF(log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[alarms.Metric]alarms.State{
		{Namespace: "Weft", Name: "StuckTasks", Dimensions: `"Deployment"="shop"`}:                  alarms.Alarming,
		{Namespace: "Weft", Name: "CodeFailures", Dimensions: `"Deployment"="shop"`}:                alarms.Alarming,
		{Namespace: "Weft", Name: "HungInstances", Dimensions: `"Deployment"="shop"`}:               alarms.OK,
		{Namespace: "Weft", Name: "StuckTasks", Dimensions: `"Deployment"="other"`}:                 alarms.OK,
		{Namespace: "Weft", Name: "StuckTasks", Dimensions: `"Namespace"="shop"`}:                   alarms.OK,
		{Namespace: "Weft", Name: "StuckTasks"}:                                                     alarms.OK,
		{Namespace: "Weft", Name: "StuckTasks", Dimensions: `"Deployment"="shop","Function"="api"`}: alarms.OK,
		{Namespace: "Other", Name: "StuckTasks", Dimensions: `"Deployment"="shop"`}:                 alarms.OK,
	} {
		a := five(1, 4, "notBreaching")
		a.Metric, a.Threshold = metric, 1 // both tasks are in one datum
		var of []alarms.Point
		for _, d := range data {
			if d.Metric == metric {
				of = append(of, d.Point)
			}
		}
		if got := a.Evaluate(of, began.Add(a.Period), retained); got != want {
			t.Errorf("%+v: %s, want %s", metric, got, want)
		}
	}
}
