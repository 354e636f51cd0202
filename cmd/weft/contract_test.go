package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
)

func TestContractCommands(t *testing.T) {
	t.Parallel()
	at := " --url=" + work(t, t.TempDir(), append(cart.Registrations(), postal()...)...)
	dir := t.TempDir()
	file, changed := filepath.Join(dir, "contract.json"), filepath.Join(dir, "changed.json")
	printed, err := command(t, "contract export"+at)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "contract export --out="+file+at); err != nil || out != "" {
		t.Fatalf("%s, %v", out, err)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != printed {
		t.Errorf("%v: the file is not what was printed:\n%s", err, kept)
	}
	part, err := command(t, "contract export --types=cart"+at)
	if d, wrong := contract.Read([]byte(part)); err != nil || wrong != nil || len(d.Types()) != 1 {
		t.Errorf("%v, %v: %s", err, wrong, part)
	}

	if out, err := command(t, "contract check -o table "+file+at); err != nil || out != "nothing has changed\n" {
		t.Errorf("%v: %s", err, out)
	}
	other := strings.Replace(strings.Replace(printed, `"note": {`, `"notes": {`, 1), `"pinned": true,`, "", 1)
	if err := os.WriteFile(changed, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `breaks  workflow cart: signal note: is removed
        it is refused, and a run that has received one cannot replay
        instead: keep it until nobody sends it, also if its code only ignores it
note    workflow send: is no longer pinned
        open runs stay on their build, and new runs follow each deployment
safe    workflow cart: signal notes: is added
`
	out, err := command(t, "contract check -o table "+file+" "+changed)
	if diff := cmp.Diff(want, out); cli.CodeOf(err) != 1 || diff != "" || err.Error() != "1 change breaks callers or open runs" {
		t.Errorf("%v\n%s", err, diff)
	}
	out, err = command(t, "contract check -o json "+file+" "+changed)
	var all []diff.Change
	if wrong := json.Unmarshal([]byte(out), &all); wrong != nil || cli.CodeOf(err) != 1 || len(all) != 3 || all[0].Callers != diff.Breaks {
		t.Errorf("%v, %v: %s", wrong, err, out)
	}
	if out, err = command(t, "contract check -q "+changed+" "+file); cli.CodeOf(err) != 1 || !strings.HasPrefix(out, "workflow cart: signal notes\n") {
		t.Errorf("%v: %s", err, out)
	}
	for line, code := range map[string]cli.Code{
		"contract check " + dir + "/nothing.json " + file: cli.Usage, "contract check " + dir + " " + file: cli.Usage, "contract check " + file + " --build=b9" + at: cli.Refused,
		"contract export --types=crat" + at: cli.NotFound, "contract export --build=b9" + at: cli.Refused,
	} {
		if out, err := command(t, line); cli.CodeOf(err) != code || out != "" {
			t.Errorf("%s: %v, %s", line, err, out)
		}
	}
	if err := os.WriteFile(changed, []byte(`{"openapi":"3.1.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "contract check "+file+" "+changed); cli.CodeOf(err) != cli.Usage || !strings.Contains(err.Error(), "changed.json: the document has no") {
		t.Error(err)
	}
}
