package patches_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/patches"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// Three versions follow each other. An old run ends the old way under the second version. A run
// that began under the second version ends the new way under the third, although that one no longer
// calls Patched.
func TestVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, d := t.Context(), testbed.New(t)
		p := d.Start(executor.Options{Build: "before"}, patches.With(patches.RunBefore)...)
		deploy := func(build string, run func(workflow.Context, patches.Order) ([]string, error)) {
			p.Stop()
			p = d.Start(executor.Options{Build: build}, patches.With(run)...)
		}
		start := func(id string) {
			if _, err := patches.Workflow.Start(ctx, p.Client, id, patches.Order{ID: id}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		finish := func(id, want string) {
			if err := patches.Pack.Send(ctx, p.Client, id, workflow.None{}); err != nil {
				t.Fatal(err)
			}
			done, err := patches.Workflow.Get(p.Client, id).Result(ctx)
			if got := strings.Join(done, ", "); err != nil || !strings.HasPrefix(got, want+", shipped as "+id) {
				t.Errorf("%s: %s, %v; want %s", id, got, err, want)
			}
		}
		start("old")
		deploy("now", patches.Run)
		start("new")
		finish("old", "charged")
		start("newer")
		finish("new", "reserved, charged")
		deploy("after", patches.RunAfter)
		finish("newer", "reserved, charged")
	})
}
