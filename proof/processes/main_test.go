package processes_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/internal/isolate"
)

// TestMain runs the tests, or serves if a test or one of its servers executed the test's binary
// again:
//   - as a child of a server that isolates
//   - as a server that isolates (parentMark)
//   - as a server that runs user code in its own process (serveAt)
func TestMain(m *testing.M) {
	switch dir := os.Getenv(parentMark); {
	case isolate.IsChild(): // first, because a child has the environment of its parent
		log, err := logOfChild()
		if err == nil {
			err = weft.Serve(context.Background(), registry(), weft.Options{Log: log})
		}
		end(err)
	case dir != "":
		end(serveAsParent(dir))
	case os.Getenv(serveAt) != "":
		end(servePlain())
	default:
		os.Exit(m.Run())
	}
}

// end ends the process of a server.
func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
