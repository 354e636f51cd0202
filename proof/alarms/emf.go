package alarms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Datum is a value of a metric.
type Datum struct {
	Metric Metric
	Unit   string // empty if there is none
	Point
}

// The limits of the embedded metric format.
const (
	mostMetrics    = 100
	mostValues     = 100
	mostDimensions = 30
)

// The metadata of a line.
type (
	metadata struct {
		Timestamp         *int64
		CloudWatchMetrics []directive
	}
	directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	definition struct {
		Name, Unit        string
		StorageResolution int
	}
)

// ReadEMF returns the data that CloudWatch takes from a line of a log: none if the line is not in
// the embedded metric format. It returns an error if the line is in that format and breaks its
// rules, because CloudWatch then drops it without a word.
func ReadEMF(line []byte) ([]Datum, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil || members["_aws"] == nil {
		return nil, nil
	}
	var m metadata
	if err := json.Unmarshal(members["_aws"], &m); err != nil {
		return nil, fmt.Errorf("alarms: the metadata of %s: %w", line, err)
	}
	if m.CloudWatchMetrics == nil {
		return nil, nil // metadata for another service
	}
	if m.Timestamp == nil {
		return nil, fmt.Errorf("alarms: %s has no Timestamp", line)
	}
	var all []Datum
	for _, d := range m.CloudWatchMetrics {
		data, err := d.read(members, time.UnixMilli(*m.Timestamp))
		if err != nil {
			return nil, fmt.Errorf("alarms: %s: %w", line, err)
		}
		all = append(all, data...)
	}
	return all, nil
}

func (d directive) read(members map[string]json.RawMessage, at time.Time) (all []Datum, err error) {
	if d.Namespace == "" || d.Dimensions == nil || d.Metrics == nil {
		return nil, errors.New("a directive needs Namespace, Dimensions and Metrics")
	}
	if len(d.Metrics) > mostMetrics {
		return nil, fmt.Errorf("a directive has %d metrics, of %d at most", len(d.Metrics), mostMetrics)
	}
	for _, names := range d.Dimensions {
		dimensions, err := dimensionsOf(names, members)
		if err != nil {
			return nil, err
		}
		for _, m := range d.Metrics {
			if m.StorageResolution != 0 && m.StorageResolution != int(resolution/time.Second) {
				return nil, fmt.Errorf("%s has a resolution of %d s, which this package does not know", m.Name, m.StorageResolution)
			}
			values, err := valuesOf(m.Name, members)
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				all = append(all, Datum{Metric{d.Namespace, m.Name, dimensions}, m.Unit, Point{at, v}})
			}
		}
	}
	return all, nil
}

// dimensionsOf returns the dimensions with these names.
func dimensionsOf(names []string, members map[string]json.RawMessage) (string, error) {
	if len(names) > mostDimensions {
		return "", fmt.Errorf("there are %d dimensions, of %d at most", len(names), mostDimensions)
	}
	dimensions := map[string]string{}
	for _, name := range names {
		var value *string
		if json.Unmarshal(members[name], &value) != nil || value == nil {
			return "", fmt.Errorf("the dimension %s is not a text", name)
		}
		dimensions[name] = *value
	}
	return Dimensions(dimensions), nil
}

// valuesOf returns the values of a metric: a number, or an array of numbers.
func valuesOf(name string, members map[string]json.RawMessage) (values []float64, err error) {
	text := bytes.TrimSpace(members[name])
	if !bytes.HasPrefix(text, []byte("[")) {
		text = append(append([]byte("["), text...), ']')
	}
	var all []*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("the metric %s is no number: %w", name, err)
	}
	if len(all) > mostValues {
		return nil, fmt.Errorf("the metric %s has %d values, of %d at most", name, len(all), mostValues)
	}
	for _, v := range all {
		if v == nil {
			return nil, fmt.Errorf("the metric %s has no number", name)
		}
		values = append(values, *v)
	}
	if len(text) == len("[]") {
		return nil, fmt.Errorf("the metric %s is missing", name)
	}
	return values, nil
}
