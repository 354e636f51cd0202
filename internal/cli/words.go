package cli

import (
	"cmp"
	"regexp"
)

// members matches what the refusals of the API call their members. What is in quotes is a user's.
var members = regexp.MustCompile(`"[^"]*"|\bunknown=allow\b|\bone of to and build\b|\b(?:(?:an?|the) )?(?:mostRuns|signalName|batchId|idConflictPolicy|idReusePolicy)\b`)

// flagOfMember has the flags of the members.
var flagOfMember = map[string]string{
	"unknown=allow": "--allow-unknown", "one of to and build": "--to or --build", "mostRuns": "--most-runs", "signalName": "--signal", "batchId": "--id",
	"idConflictPolicy": "--conflict", "idReusePolicy": "--reuse",
}

// article matches an article, which a flag has none of.
var article = regexp.MustCompile(`^(an?|the) `)

// Flags returns a text of the deployment with the flags of the command in place of the members of
// the API.
func Flags(text string) string {
	return members.ReplaceAllStringFunc(text, func(found string) string {
		return cmp.Or(flagOfMember[article.ReplaceAllString(found, "")], found)
	})
}
