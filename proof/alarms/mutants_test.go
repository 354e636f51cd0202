package alarms_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutants are breaks of the rules: the file, a piece of it, and what replaces the piece.
var mutants = [][3]string{
	{"evaluate.go", "const morePeriods = 2", "const morePeriods = 1"},
	{"evaluate.go", "const morePeriods = 2", "const morePeriods = 3"},
	{"evaluate.go", "now.Truncate(resolution)", "now"},
	{"evaluate.go", "points[:min(len(points), a.EvaluationPeriods)]", "points[:]"},
	{"evaluate.go", "if p.breaches {", "if !p.breaches {"},
	{"evaluate.go", "case a.Missing == notBreaching:", "case false:"},
	{"evaluate.go", "bad += a.EvaluationPeriods - len(points)", "bad += a.EvaluationPeriods"},
	{"evaluate.go", "bad += a.EvaluationPeriods - len(points)", "bad++"},
	{"evaluate.go", "return InsufficientData\n", "return OK\n"},
	{"evaluate.go", "case len(points) == 0:\n\t\treturn before", "case len(points) == 0:\n\t\treturn OK"},
	{"evaluate.go", "case a.beginsEarly(points, bad) && a.Missing == missing:", "case a.beginsEarly(points, bad):"},
	{"evaluate.go", "case a.beginsEarly(points, bad) && a.Missing == missing:\n\t\treturn Alarming", "case false:\n\t\treturn Alarming"},
	{"evaluate.go", "bad >= a.DatapointsToAlarm", "bad > a.DatapointsToAlarm"},
	{"evaluate.go", "bad >= a.DatapointsToAlarm", "bad >= a.EvaluationPeriods"},
	{"evaluate.go", "bad < a.DatapointsToAlarm &&", "true &&"},
	{"evaluate.go", "&& bad == len(points) &&", "&& true &&"},
	{"evaluate.go", "oldest.age+1 >=", "oldest.age >="},
	{"evaluate.go", "oldest.age+1 >=", "oldest.age+2 >="},
	{"evaluate.go", "oldest := points[len(points)-1]", "oldest := points[0]"},
	{"evaluate.go", "!d.At.Before(begin)", "d.At.After(begin)"},
	{"evaluate.go", "d.At.Before(end)", "!d.At.After(end)"},
	{"evaluate.go", "end.Add(-a.Period)", "end.Add(-a.Period / 2)"},
	{"evaluate.go", "return sum(values) / float64(len(values))", "return sum(values)"},
	{"evaluate.go", "return v > t", "return v >= t"},
	{"evaluate.go", "return v >= t", "return v > t"},
	{"evaluate.go", "return v < t", "return v <= t"},
	{"evaluate.go", "return v <= t", "return v < t"},
	{"alarm.go", "slices.Sort(all)", "_ = slices.Sorted[string]"},
	{"alarm.go", "cmp.Or(d.DatapointsToAlarm, d.EvaluationPeriods)", "cmp.Or(d.DatapointsToAlarm, 1)"},
	{"alarm.go", "cmp.Or(d.Missing, missing)", "cmp.Or(d.Missing, ignore)"},
	{"alarm.go", `d.Namespace == "AWS/DynamoDB"`, "false"},
	{"alarm.go", `a.Next != ""`, "false"},
	{"alarm.go", "Metric{d.Namespace, d.MetricName, Dimensions(dimensions)}", "Metric{d.Namespace, d.MetricName, \"\"}"},
	{"emf.go", "if m.Timestamp == nil {", "if m.Timestamp == nil {\n\t\tm.Timestamp = new(int64)\n\t}\n\tif false {"},
	{"emf.go", "for _, names := range d.Dimensions {", "for _, names := range d.Dimensions[:1] {"},
	{"emf.go", "dimensions[name] = *value", "_ = value"},
	{"emf.go", "len(d.Metrics) > mostMetrics", "false"},
	{"emf.go", "len(all) > mostValues", "false"},
	{"emf.go", "len(names) > mostDimensions", "false"},
	{"emf.go", "m.StorageResolution != 0 &&", "false &&"},
	{"emf.go", "m.Unit, Point", `"", Point`},
	{"clock.go", "d.Value *= float64(c.Faster)", "_ = d.Value"},
	{"clock.go", `d.Unit == "Seconds"`, "true"},
	{"clock.go", "d.At = c.At(d.At)", "_ = d.At"},
}

// Each broken rule fails a test. Each mutant is a package with the tests, and one program runs them
// all: to build a program for each would take most of the time.
func TestMutants(t *testing.T) {
	t.Parallel()
	const tests = "alarms_test.go"
	sources := map[string]string{}
	for _, name := range []string{"alarm.go", "clock.go", "emf.go", "evaluate.go", tests} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(text)
	}
	var run []string
	for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(sources[tests], -1) {
		run = append(run, f[1])
	}
	// The tests are in the package that they test, as an ordinary file.
	sources[tests] = strings.NewReplacer("package alarms_test", "package alarms", "alarms.", "",
		`	"github.com/seed-41655fb1/weft/proof/alarms"`, "").Replace(sources[tests])
	dir := t.TempDir()
	var imports, calls strings.Builder
	for i, m := range append(mutants, [3]string{}) { // the last one breaks nothing
		fmt.Fprintf(&imports, "import m%d \"mutants/m%d\"\n", i, i)
		for _, name := range run {
			fmt.Fprintf(&calls, "\tt.Run(\"m%d\", m%d.%s)\n", i, i, name)
		}
		for name, text := range sources {
			if name == m[0] {
				if n := strings.Count(text, m[1]); n != 1 {
					t.Fatalf("%s has the piece to break %d times, want once: was it changed?\n%s", name, n, m[1])
				}
				text = strings.Replace(text, m[1], m[2], 1)
			}
			write(t, text, dir, fmt.Sprint("m", i), strings.ReplaceAll(name, "_test.go", ".go"))
		}
	}
	write(t, "module mutants\n\ngo 1.26\n", dir, "go.mod")
	write(t, "package mutants\n\nimport \"testing\"\n"+imports.String()+"\nfunc Test(t *testing.T) {\n"+calls.String()+"}\n", dir, "all_test.go")
	command := exec.Command("go", "test", "-vet=off", "-ldflags=-s", ".")
	command.Dir = dir
	out, err := command.CombinedOutput()
	if !strings.Contains(string(out), "--- FAIL: Test ") {
		t.Fatalf("the mutants cannot be tested: %v\n%s", err, out)
	}
	failed := func(i int) bool { return regexp.MustCompile(fmt.Sprintf(`--- FAIL: Test/m%d[# ]`, i)).Match(out) }
	for i, m := range mutants {
		if !failed(i) {
			t.Errorf("no test notices a break of %s: %q instead of %q", m[0], m[2], m[1])
		}
	}
	if failed(len(mutants)) {
		t.Errorf("the tests fail although nothing is broken:\n%s", out)
	}
}

// write writes a file, and the folder in which it is.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
