package main

import (
	"path"
	"regexp"
	"strings"
)

// A rule rejects a word, or another habit. Its text ignores case, unless it contains [A-Z] or the
// word begins with a capital letter.
type rule struct {
	// word names the rule.
	word string
	// instead is what to write instead, and why is the reason.
	instead, why string
	// text matches prose: comments, string literals, documents, scripts. An empty pattern matches
	// nothing.
	text string
	// name matches identifiers, split into words: "settle child" for SettleChild.
	name string
	// exact matches whole identifiers. function matches only the names of declared functions and
	// methods. qualifier matches only identifiers before a period, such as package names.
	exact, function, qualifier string
	// fine matches the parts of a line of prose that may contain the word.
	fine string
	// under are the folders that the rule applies to. Empty means all.
	under []string
}

const (
	plain   = "the plain word"
	private = "the field has a term"
	riddle  = "it has to be read twice"
	verb    = "a function that acts reads as a command, and a function that fetches says so"
)

var (
	executors = []string{"internal/turn", "internal/executor"}
	runs      = []string{"engine", "internal", "client", "workflow", "proof/sim", "proof/testbed"}
)

// The rules for words. width.go has those for lengths.
var rules = []rule{
	{word: "mend", instead: "fix", why: plain, text: `\bmend(s|ed|ing)?\b`, name: `\bmend(s|ed|ing)?\b`},
	{word: "comes again", instead: "is redelivered, is retried, or who sends it", why: plain, text: `\b(come|comes|came|coming) again\b`},
	{word: "apart", instead: "separate, separately, offloaded", why: plain, text: `\bapart\b`, name: `\bapart\b`, fine: `\b(tell|tells|told)( \w+){0,3} apart\b|\b\d+ \w+ apart\b`},
	{word: "none of the", instead: "does not belong to, is not one of", why: riddle, text: `\bnone of the\b`},
	{word: "brought about", instead: "caused, triggered", why: plain, text: `\b(brought|brings?|bringing) about\b`},
	{word: "where for if", instead: "if or when", why: plain, text: `\bwhere there (is|are|was|were) (no|none|nothing|nobody)\b|\b(nil|empty|0|zero|false|true|nothing|none|no error) where\b|; where (there|it|that|they|nothing|nobody|none) (is|are|was|were|has|have)\b`},

	{word: "turn", instead: "executor", why: private, text: `\bpackage turn\b|\bturn\.[A-Z]`, qualifier: `^turn(test)?$`},
	{word: "wave", instead: "causation id", why: private, text: `\bwaves?\b`, name: `\bwaves?\b`},
	{word: "errand", instead: "outbound request", why: private, text: `\berrands?\b`, name: `\berrands?\b`},
	{word: "rivals", instead: "contention backoff", why: private, text: `\brivals?\b`, name: `\brivals?\b`},
	{word: "pump", instead: "worker", why: private, text: `\bpump(s|ed|ing)?\b`, name: `\bpumps?\b`},
	{word: "seal", instead: "codec; encode, encrypt", why: private, text: `\b(un)?seal(s|ed|er|ers|ing)?\b`, name: `\b(un)?seal(s|ed|er|ers|ing)?\b`},
	{word: "spill", instead: "offload", why: private, text: `\bspill(s|ed|ing)?\b`, name: `\bspill(s|ed|ing)?\b`},
	{word: "police", instead: "check the contract", why: private, text: `\bpolic(e|es|ed|ing)\b`, name: `\bpolic(e|es|ed|ing)\b`, fine: `\bretry policies\b`},
	{word: "upkeep", instead: "maintenance", why: private, text: `\bupkeep\b`, name: `\bupkeep\b`},
	{word: "ReachOut", instead: "DeliverExternal", why: private, text: `\bReachOut\b`, name: `\breach out\b`},
	{word: "SettleChild", instead: "StartOrCloseChild", why: private, text: `\bSettleChild\b`, name: `\bsettle child\b`},
	{word: "ReportChild", instead: "NotifyParent", why: private, text: `\bReportChild\b`, name: `\breport child\b`},
	{word: "Declare", instead: "NewWorkflow", why: private, text: `\bworkflow\.Declare\b`, exact: `^Declare$`},
	{word: "Opening", instead: "WithStart", why: private, text: "`Opening`|\\.Opening\\b", exact: `^Opening$`},
	{word: "Beat", instead: "RecordHeartbeat, with External for an attempt outside", why: private, text: `\bactivity\.Beat\b`, exact: `^Beat$`},
	{word: "scene", instead: "testbed", why: private, name: `\bscenes?\b`},
	{word: "stage of tests", instead: "enginetest", why: private, qualifier: `^stage$`},
	{word: "family", instead: "children", why: private, text: `\bfamil(y|ies)\b`, name: `\bfamily\b`},
	{word: "gate", instead: "queue, lock", why: private, name: `\bgates?\b`, under: executors},
	{word: "heart", instead: "heartbeater", why: private, name: `\bhearts?\b`},
	{word: "shown", instead: "visibility", why: private, name: `\bshown\b`, under: runs},
	{word: "brought", instead: "input events", why: private, name: `\bbrought\b`, under: runs},
	{word: "ticket of an attempt", instead: "token", why: private, name: `\btickets?\b`, under: executors},

	{word: "mine, told", instead: "checkBuild, locate, reportTasks, recordTask, recordRun", why: verb, function: `^(mine|told|ran|worked)$`},
	{word: "known, current", instead: "ensureLoaded, ensureFresh, requireFresh, wasDelivered", why: verb, function: `^(known|current|final|named|has|room|policy)$`, under: executors},

	{word: wideMarkdown, instead: "lines of at most 120 columns", why: "side by side, two fit on a screen"},
	{word: wideComment, instead: "comments of at most 100 columns", why: "side by side, two fit on a screen"},
	{word: widePreformatted, instead: "at most 120 columns, with shorter cells or rows", why: "it cannot be wrapped like prose, but has to fit on a screen"},
}

// exceptions are the files that the linter skips, with the reason.
var exceptions = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`^internal/page/dist/`), "built from ui/, which is checked"},
	{regexp.MustCompile(`(^|/)testdata/`), "golden data, recordings and stored forms"},
	{regexp.MustCompile(`^docs/decisions/00([0-2]\d|3[0-5])-`), "an old record of a decision, which keeps its words"},
	{regexp.MustCompile(`^tools/words/`), "it names the words"},
	{regexp.MustCompile(`_gen\.go$|^internal/page/dist/`), "generated from code that is checked"},
	{regexp.MustCompile(`^LICENSE$|go\.(mod|sum)$|^localstack/locks/`), "text by others"},
}

// excluded returns why the linter skips a file, or "" if it does not.
func excluded(file string) string {
	for _, e := range exceptions {
		if e.pattern.MatchString(file) {
			return e.why
		}
	}
	switch path.Ext(file) {
	case ".go", ".md", ".sh", ".yaml", ".yml", ".tf", ".ts", ".tsx", ".mjs", ".py", ".js", "":
		return ""
	}
	return "data"
}

// appliesTo reports whether the rule applies to a file.
func (r *rule) appliesTo(file string) bool {
	for _, folder := range r.under {
		if strings.HasPrefix(file, folder+"/") {
			return true
		}
	}
	return len(r.under) == 0
}
