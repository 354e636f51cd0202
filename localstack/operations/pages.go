package operations

import (
	"fmt"
	"regexp"
	"strings"
)

// Page is what docs/operations.md says about an alarm.
type Page struct {
	// Alarm is the alarm's name without that of the deployment: stuck-runs.
	Alarm string
	// Commands are the blocks of commands that the page tells an operator to run, as they are
	// written there.
	Commands []string
}

var (
	heading = regexp.MustCompile("(?m)^### (`.*`)$")
	named   = regexp.MustCompile("`weft-([^`]+)`")
	block   = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
)

// Pages returns the pages of the alarms in docs/operations.md, by the names of the alarms. It
// returns an error if there are none, or if one has no part that says what to do.
func Pages(text string) (map[string]Page, error) {
	_, section, found := strings.Cut(text, "\n## Alarms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	at := heading.FindAllStringSubmatchIndex(section, -1)
	if !found || len(at) == 0 {
		return nil, fmt.Errorf("operations: there is no page below a heading Alarms")
	}
	pages := map[string]Page{}
	for i, m := range at {
		end := len(section)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		title, body := section[m[2]:m[3]], section[m[1]:end]
		_, do, found := strings.Cut(body, "\n- **Do**:")
		do, _, _ = strings.Cut(do, "\n- **")
		if !found {
			return nil, fmt.Errorf("operations: the page of %s does not say what to do", title)
		}
		var commands []string
		for _, b := range block.FindAllStringSubmatch(do, -1) {
			commands = append(commands, b[1])
		}
		for _, name := range named.FindAllStringSubmatch(title, -1) {
			pages[name[1]] = Page{name[1], commands}
		}
	}
	return pages, nil
}
