// Package emftest checks, in tests, that lines of metrics keep to the schema of CloudWatch's
// embedded metric format: CloudWatch silently drops a line that breaks it.
//
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
package emftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// The limits and the units of the specification.
const (
	mostDimensions = 30
	mostMetrics    = 100
	mostValues     = 100
	longestName    = 1024
	longestKey     = 250
	longestLine    = 1 << 20
)

var units = strings.Fields(`Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits
	Gigabits Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second
	Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None`)

type metadata struct {
	Timestamp         *int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct {
		Name, Unit        string
		StorageResolution int
	}
}

// Check reports the lines of a text that CloudWatch would refuse.
func Check(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if err := Problem(strings.TrimSuffix(line, "\n")); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// Sums checks the lines of a text and returns what they add to each metric.
func Sums(t testing.TB, text string) map[string]float64 {
	t.Helper()
	Check(t, text)
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		members := map[string]json.RawMessage{}
		var meta metadata
		if err := errors.Join(json.Unmarshal([]byte(line), &members), json.Unmarshal(members["_aws"], &meta)); err != nil {
			t.Fatal(err)
		}
		for _, d := range meta.CloudWatchMetrics {
			for _, m := range d.Metrics {
				numbers, err := values(members[m.Name])
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range numbers {
					sums[m.Name] += n
				}
			}
		}
	}
	return sums
}

// Problem returns why CloudWatch would refuse a line, or nil if it would not.
func Problem(line string) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		return err
	}
	if len(line) > longestLine {
		return fmt.Errorf("it has %d bytes", len(line))
	}
	if members["_aws"] == nil {
		return errors.New("it has no _aws")
	}
	var meta metadata
	d := json.NewDecoder(bytes.NewReader(members["_aws"]))
	d.DisallowUnknownFields()
	if err := d.Decode(&meta); err != nil {
		return fmt.Errorf("_aws: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows")
	}
	if meta.Timestamp == nil || len(meta.CloudWatchMetrics) == 0 {
		return errors.New("_aws lacks Timestamp or CloudWatchMetrics")
	}
	for _, d := range meta.CloudWatchMetrics {
		if err := d.problem(members); err != nil {
			return err
		}
	}
	return nil
}

func (d *directive) problem(members map[string]json.RawMessage) error {
	if d.Namespace == "" || len(d.Namespace) > longestName {
		return fmt.Errorf("the namespace is %q", d.Namespace)
	}
	if len(d.Dimensions) == 0 {
		return errors.New("there is no set of dimensions")
	}
	for _, set := range d.Dimensions {
		if len(set) == 0 || len(set) > mostDimensions {
			return fmt.Errorf("a set has %d dimensions", len(set))
		}
		for _, key := range set {
			var value string
			if err := json.Unmarshal(members[key], &value); err != nil || value == "" || len(value) > longestName || key == "" || len(key) > longestKey {
				return fmt.Errorf("the dimension %q is %s", key, members[key])
			}
		}
	}
	if len(d.Metrics) == 0 || len(d.Metrics) > mostMetrics {
		return fmt.Errorf("there are %d metrics", len(d.Metrics))
	}
	for _, m := range d.Metrics {
		if m.Name == "" || len(m.Name) > longestName || !slices.Contains(units, m.Unit) {
			return fmt.Errorf("a metric has the name %q and the unit %q", m.Name, m.Unit)
		}
		if _, err := values(members[m.Name]); err != nil {
			return fmt.Errorf("the metric %s: %w", m.Name, err)
		}
	}
	return nil
}

// values returns the values of a metric: a number, or several.
func values(member json.RawMessage) (numbers []float64, err error) {
	var one float64
	if err := json.Unmarshal(member, &one); err == nil && string(member) != "null" {
		return []float64{one}, nil
	}
	if err := json.Unmarshal(member, &numbers); err != nil {
		return nil, err
	}
	if len(numbers) == 0 || len(numbers) > mostValues {
		return nil, fmt.Errorf("it has %d values", len(numbers))
	}
	return numbers, nil
}
