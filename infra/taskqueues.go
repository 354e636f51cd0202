package infra

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
)

// SAMWith returns SAM with task queues besides the default one. It fails if a name is invalid,
// or is given twice.
//
// CloudFormation has no loops. So SAMWith repeats all parts of the default queue (parameters, queue
// and dead letters, role, function, mappings, alarms, outputs) for each task queue, under names
// that begin with Tasks and the queue's name.
func SAMWith(taskQueues ...string) (string, error) {
	var all []taskQueue
	seen := map[string]bool{}
	for _, name := range taskQueues {
		q := taskQueue{name: name, prefix: "Tasks" + pascal(name)}
		if err := engine.CheckTaskQueue(name); err != nil {
			return "", err
		}
		if name == "" || seen[q.prefix] {
			return "", fmt.Errorf("the task queue %q is the default one, or is given twice: names have to differ in more than their hyphens", name)
		}
		seen[q.prefix] = true
		all = append(all, q)
	}
	if len(all) == 0 {
		return SAM, nil
	}
	var out strings.Builder
	var entry []string
	end := func() {
		for _, line := range entry {
			out.WriteString(joined(line, all))
		}
		for _, q := range all {
			out.WriteString(q.of(entry))
		}
		entry = nil
	}
	for line := range strings.Lines(SAM) {
		if begins.MatchString(line) {
			end()
		}
		if entry == nil && !ofActivities.MatchString(line) {
			out.WriteString(joined(line, all))
			continue
		}
		entry = append(entry, line)
	}
	end()
	return out.String(), nil
}

func pascal(name string) string {
	var all strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			all.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return all.String()
}

// taskQueue is a task queue, and what the names of its resources begin with.
type taskQueue struct{ name, prefix string }

var (
	// begins matches the first line of a section, or of an entry in one, or the line before it.
	begins = regexp.MustCompile(`^( {0,2}[A-Za-z#]|\n)`)
	// ofActivities matches the first line of an entry that each task queue has.
	ofActivities = regexp.MustCompile(`^  (Activity[A-Za-z]+|LimitsActivities|PresetsActivities|ReservesActivity):`)
	identifier   = regexp.MustCompile(`\bActivity([A-Z][A-Za-z]+)|\b(Limits|Presets|Reserves)Activit(?:y|ies)\b`)
	// inNames matches the queue's or the function's name in the names of resources.
	inNames = regexp.MustCompile(`(\$\{AWS::StackName\}-(?:[a-z-]+-)?)activit(?:y|ies)\b`)
	label   = regexp.MustCompile(`"label": "[a-z]+"`)
	anchor  = regexp.MustCompile(`^( +)- &([A-Za-z]+)`)
)

// of returns an entry of the default queue, changed for this one.
func (q taskQueue) of(entry []string) string {
	var out strings.Builder
	within := -1 // the indentation of an anchored value, which the template already has
	for _, line := range entry {
		if strings.Contains(line, "RunsBatches") || strings.Contains(line, "HasEventBus") {
			continue // the steps of batches, and notifications, are activities of the default queue
		}
		if indent := len(line) - len(strings.TrimLeft(line, " ")); within >= 0 && indent > within {
			continue
		}
		within = -1
		if a := anchor.FindStringSubmatch(line); a != nil {
			within = len(a[1])
			line = a[1] + "- *" + a[2] + "\n"
		}
		if entry[0] == "  ActivityMaximumConcurrency:\n" { // a preset divides the default queues only
			line = strings.NewReplacer(", and -1 what Concurrency gives", "", ": -1\n", ": 0\n").Replace(line)
		}
		out.WriteString(q.renamed(line))
	}
	return out.String()
}

func (q taskQueue) renamed(line string) string {
	line = identifier.ReplaceAllString(line, "${2}"+q.prefix+"${1}")
	line = inNames.ReplaceAllString(line, "${1}tasks-"+q.name)
	for from, to := range map[string]string{
		"queue activities": "queue tasks-" + q.name, `*namespace, "r/"`: `*namespace, "r/` + q.name + `"`, "he activity function": "he tasks-" + q.name + " function", "the activity queue": "the queue tasks-" + q.name,
		"Variables: { WEFT_ROLE": `Variables: { WEFT_VISIBILITY: !Sub "${` + q.prefix + `Visibility}s", WEFT_ROLE`,
	} {
		line = strings.ReplaceAll(line, from, to)
	}
	return line
}

// joined returns a line of a part that exists once, with the default queue's values repeated for
// the other queues.
func joined(line string, all []taskQueue) string {
	after := func(what string) {
		old := what
		for _, q := range all {
			what += ", " + q.renamed(old)
		}
		line = strings.ReplaceAll(line, old, what)
	}
	switch {
	case strings.Contains(line, "!GetAtt TimerQueue.Arn, !GetAtt ActivityQueue.Arn"):
		after("!GetAtt ActivityQueue.Arn")
	case strings.Contains(line, "!GetAtt TimerDeadQueue.Arn, !GetAtt ActivityDeadQueue.Arn"):
		after("!GetAtt ActivityDeadQueue.Arn")
	case strings.Contains(line, "!GetAtt WorkflowRole.Arn, !GetAtt ActivityRole.Arn"):
		after("!GetAtt ActivityRole.Arn")
	case strings.Contains(line, "!GetAtt WorkflowFunction.Arn, !GetAtt ActivityFunction.Arn"):
		after("!GetAtt ActivityFunction.Arn")
	case strings.Contains(line, `!Sub "${ActivityFunction.Arn}:live"`):
		after(`!Sub "${ActivityFunction.Arn}:live"`)
	case strings.Contains(line, "!Ref WorkflowRole, !Ref ActivityRole"):
		after("!Ref ActivityRole")
	case strings.Contains(line, "WEFT_QUEUE_ACTIVITIES:"):
		var pairs []string
		for _, q := range all {
			pairs = append(pairs, q.name+"=${"+q.prefix+"Queue}")
		}
		line += strings.Repeat(" ", 8) + `WEFT_TASK_QUEUES: !Sub "` + strings.Join(pairs, ",") + "\"\n"
	case strings.Contains(line, "AssertDescription:") && strings.Contains(line, "Set ActivityMaximumConcurrency"):
		described := line
		for _, q := range all {
			line += q.renamed(strings.Repeat(" ", 6) + "- Assert: !Not [!Equals [!Ref ActivityMaximumConcurrency, 1]]\n" + described)
		}
	case strings.Contains(line, `"${AWS::StackName}-activit`):
		line = onDashboard(line, all)
	}
	return line
}

// onDashboard returns a metric of the default queue, or of its function, followed by those of
// the other queues.
func onDashboard(line string, all []taskQueue) string {
	metric, rest, _ := strings.Cut(line, `}]`)
	out := metric + `}]`
	for _, q := range all {
		one := inNames.ReplaceAllString(metric, "${1}tasks-"+q.name)
		out += ",\n" + label.ReplaceAllString(one, `"label": "tasks-`+q.name+`"`) + `}]`
	}
	return out + rest
}
