package infra_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile("(?m)^### (`.*`)$")
	quoted  = regexp.MustCompile("`([^`]+)`")
	shell   = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
	ofStack = regexp.MustCompile(`\bweft-[a-z.-]*[a-z]`)
)

// Each alarm has a heading of docs/operations.md with its name, and no heading names an alarm
// that does not exist. (The Terraform module has those of the template: see same_test.go.)
func TestAlarmsAreDocumented(t *testing.T) {
	t.Parallel()
	c := load(t, filepath.Join("sam", "template.yaml"), "weft", nil)
	var declared, documented []string
	for _, id := range c.of("AWS::CloudWatch::Alarm") {
		declared = append(declared, c.value(c.properties(id)["AlarmName"]).(string))
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, alarms, found := strings.Cut(string(text), "\n## Alarms\n")
	alarms, _, _ = strings.Cut(alarms, "\n## ")
	for _, h := range heading.FindAllStringSubmatch(alarms, -1) {
		for _, name := range quoted.FindAllStringSubmatch(h[1], -1) {
			documented = append(documented, name[1])
		}
	}
	slices.Sort(declared)
	slices.Sort(documented)
	if !found || !slices.Equal(declared, documented) {
		t.Errorf("the alarms are\n%q\nand docs/operations.md has\n%q", declared, documented)
	}
	for _, section := range strings.Split(alarms, "\n### ")[1:] {
		for _, part := range []string{"- **Means**:", "- **Callers see**:", "- **Look**:", "- **Do**:", "- **Heals itself**:"} {
			if strings.Count(section, part) != 1 {
				t.Errorf("%s has not one %s", strings.SplitN(section, "\n", 2)[0], part)
			}
		}
		_, do, _ := strings.Cut(section, "- **Do**:")
		do, _, _ = strings.Cut(do, "- **Heals itself**:")
		if len(shell.FindAllString(do, -1)) != 1 {
			t.Errorf("%s does not have one block of commands under Do", strings.SplitN(section, "\n", 2)[0])
		}
	}
}

// A stack called weft has everything that the commands of docs/operations.md name.
func TestOperatorsNames(t *testing.T) {
	t.Parallel()
	c := load(t, filepath.Join("sam", "template.yaml"), "weft", nil)
	var names []string
	for kind, property := range map[string]string{
		"AWS::Serverless::Function": "FunctionName", "AWS::SQS::Queue": "QueueName", "AWS::Events::Rule": "Name",
	} {
		for _, id := range c.of(kind) {
			names = append(names, c.value(c.properties(id)[property]).(string))
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range shell.FindAllStringSubmatch(string(text), -1) {
		for _, name := range ofStack.FindAllString(block[1], -1) {
			found++
			if !slices.Contains(names, name) {
				t.Errorf("docs/operations.md has %s, and the template %q", name, names)
			}
		}
	}
	if found < 8 {
		t.Errorf("docs/operations.md has %d names of resources", found)
	}
}
