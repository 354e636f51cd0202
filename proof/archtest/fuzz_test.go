package archtest

import (
	"cmp"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decoders are functions that read stored or foreign data, by package. Each has the name of the
// fuzzer that reaches it, which is in another package if there is a slash. A dash is followed by
// the reason why a function needs no fuzzer. A decoder that a fuzzer of its own package calls needs
// no line.
var decoders = map[string]map[string]string{
	"engine": {"DecodeFrom": "FuzzMessageLikeLibrary"},
	"engine/failure": {
		"DecodeFrom": "engine/history/FuzzDecodeLikeLibrary", "UnmarshalText": "engine/history/FuzzAttributesFromJSON",
		"DecodeDetails": "- it reads into a type of the author's, with encoding/json",
	},
	"engine/history": {
		"Decode": "FuzzDecode", "decode": "FuzzDecode", "decodeFast": "FuzzDecodeLikeLibrary", "DecodeFrom": "FuzzDecodeLikeLibrary",
		"decodeType": "FuzzDecode", "UnmarshalCBOR": "FuzzDecodeLikeLibrary", "DecodeBody": "internal/executor/activities/FuzzRecords",
		"decodeSlowly": "FuzzDecodeLikeLibrary", "decodePayload": "FuzzPayloadsAreReadBack", "UnmarshalJSON": "FuzzAttributesFromJSON",
		"UnmarshalText": "FuzzAttributesFromJSON",
	},
	"internal/contract/check": {"decode": "FuzzCheck"},
	"internal/schema":         {"UnmarshalJSON": "FuzzReadHistory"},
	"internal/limits":         {"UnmarshalText": "FuzzText"},
	"internal/contract":       {"UnmarshalJSON": "FuzzRead"},
	"internal/payload": {
		"Decode": "- it reads into a type of the author's, with encoding/json", "DecodeOrZero": "- it reads into a type of the author's, with encoding/json",
		"DecodeBy": "- it reads into a type of the author's, with the author's converter", "DecodeOrZeroBy": "- the same",
	},
	"internal/notify/guard":       {"Parse": "FuzzParse", "parse": "FuzzParse"},
	"internal/cron":               {"Parse": "FuzzParse", "ParseDefault": "FuzzParse", "parse": "FuzzParse"},
	"internal/crash":              {"decodeNote": "FuzzNote"},
	"internal/local":              {"decodeMessage": "internal/executor/outbox/FuzzDecode"},
	"internal/disk":               {"parseName": "FuzzName"},
	"internal/filter":             {"Parse": "FuzzParse"},
	"internal/httpapi":            {"decode": "FuzzRequest", "decodeObject": "FuzzRequest"},
	"internal/observe":            {"parse": "FuzzTraceParent", "decode": "FuzzTraceParent"},
	"internal/worker":             {"decode": "internal/executor/outbox/FuzzDecode"},
	"internal/settings":           {"UnmarshalText": "FuzzQueueURLs"},
	"internal/schedule/stored":    {"UnmarshalJSON": "FuzzSchedule"},
	"internal/codec":              {"parseKeys": "FuzzKeyFile", "decodeHeader": "FuzzHeader"},
	"internal/executor/attempts":  {"decode": "FuzzCheck"},
	"internal/executor/runlog":    {"decodeAll": "engine/history/FuzzDecode"},
	"internal/executor/requests":  {"parseClosePlace": "FuzzClosePlace"},
	"internal/executor/outbox":    {"Decode": "FuzzDecode"},
	"internal/embedded/diskqueue": {"decodeID": "FuzzNumbers", "decodeCount": "FuzzNumbers", "decodeMessage": "FuzzMessage"},
	"queue/sqs":                   {"Decode": "FuzzDecode"},
	"store/dynamo": {
		"parseToken": "FuzzToken", "parseCommitSort": "FuzzItem", "parseNumber": "FuzzItem", "parseTimerSort": "FuzzItem", "decodeItem": "FuzzItem",
		"decodeSummary": "FuzzItem", "parseCursor": "FuzzCursor", "decodeTimer": "FuzzItem", "decodeMark": "FuzzItem",
	},
	"internal/embedded/diskstore": {
		"decodeAttempt": "FuzzStored", "decodeToken": "FuzzListToken", "decodeKey": "FuzzStored", "decodeItem": "FuzzStored",
		"decodeEntry": "FuzzStored", "decodeAny": "FuzzStored", "decodeSummary": "FuzzStored", "decodeExpiry": "FuzzStored",
	},
	"store/memory": {"parseToken": "FuzzToken"},
	"weftest":      {"parse": "FuzzReplay"},
	"workflow":     {"decode": "- it reads into a type of the author's, with encoding/json"},
}

// noStrangers are packages that read only what this repository or its tests write.
var noStrangers = []string{"cmd", "examples", "infra", "internal/observe/emf/emftest", "internal/wiregen", "localstack", "proof"}

var decoderName = regexp.MustCompile(`^(([dD]ecode|[pP]arse)([A-Z]\w*)?|Unmarshal(JSON|Text|CBOR|Binary))$`)

// Every function that is named like a decoder has a fuzzer, and the fuzzer has a corpus. Reviewers
// look for other functions that read such data.
func TestDecodersHaveFuzzers(t *testing.T) {
	t.Parallel()
	found := map[string]map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if slices.ContainsFunc(noStrangers, func(n string) bool { return name == n || strings.HasPrefix(name, n+"/") }) {
			continue
		}
		found[name] = map[string]bool{}
		for _, f := range p.GoFiles {
			for _, function := range functionsOf(t, filepath.Join(p.Dir, f)) {
				if !decoderName.MatchString(function) {
					continue
				}
				found[name][function] = true
				checkFuzzer(t, name, function, cmp.Or(decoders[name][function], callerOf(t, p.Dir, function)))
			}
		}
	}
	for name, functions := range decoders {
		for function := range functions {
			if !found[name][function] && decoderName.MatchString(function) {
				t.Errorf("the table has %s of %s, which does not exist", function, name)
			}
		}
	}
}

func functionsOf(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed := parsedFile(t, file)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// callerOf returns the fuzzer in a folder that calls a function by its name, or "".
func callerOf(t *testing.T, dir, function string) (fuzzer string) {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		parsed := parsedFile(t, file)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Fuzz") && mentions(f.Body, function) {
				return f.Name.Name
			}
		}
	}
	return ""
}

// mentions reports whether code has a name.
func mentions(code ast.Node, name string) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// checkFuzzer demands that a decoder's fuzzer exists and has a corpus.
func checkFuzzer(t *testing.T, name, function, fuzzer string) {
	t.Helper()
	if strings.HasPrefix(fuzzer, "- ") {
		return
	}
	if fuzzer == "" {
		t.Errorf("%s of %s has no fuzzer: write one in its package that calls it, or say in the table which one reaches it", function, name)
		return
	}
	if at := strings.LastIndex(fuzzer, "/"); at >= 0 {
		name, fuzzer = fuzzer[:at], fuzzer[at+1:]
	}
	dir := filepath.Join("..", "..", filepath.FromSlash(name))
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || !slices.ContainsFunc(tests, func(file string) bool { return slices.Contains(functionsOf(t, file), fuzzer) }) {
		t.Errorf("%s of %s: the fuzzer %s does not exist in %s", function, name, fuzzer, name)
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "testdata", "fuzz", fuzzer)); err != nil || len(kept) == 0 {
		t.Errorf("%s of %s: %s has no corpus: %v", function, name, fuzzer, err)
	}
}
