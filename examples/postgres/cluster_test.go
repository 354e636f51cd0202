package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// required is the environment variable that makes a missing PostgreSQL a failure.
const required = "WEFT_POSTGRES_REQUIRED"

// socketDir is where the cluster of these tests listens. It is empty if there is no cluster, and
// missing then has the reason.
var (
	socketDir string
	missing   string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run runs the tests with a new cluster, which it stops afterwards.
func run(m *testing.M) (status int) {
	initdb, pgctl := program("initdb"), program("pg_ctl")
	if initdb == "" || pgctl == "" {
		missing = "PostgreSQL's initdb and pg_ctl are not installed (Debian: apt-get install postgresql)"
		fmt.Fprintln(os.Stderr, "SKIPPED:", missing)
		if os.Getenv(required) != "" {
			return 1
		}
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "weft-pg")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = start(initdb, pgctl, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the cluster does not start:", err)
		return 1
	}
	stop := sync.OnceValue(func() error {
		return command(pgctl, "-D", filepath.Join(dir, "data"), "-w", "-m", "immediate", "stop")
	})
	defer func() {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the cluster does not stop:", err)
			status = 1
		}
	}()
	stopAtSignal(dir, stop)
	socketDir = dir
	return m.Run()
}

// stopAtSignal stops the cluster, which has a session of its own, when this process is told to end.
func stopAtSignal(dir string, stop func() error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		_ = errors.Join(stop(), os.RemoveAll(dir))
		os.Exit(1)
	}()
}

// program returns the path of one of PostgreSQL's programs, or "" if it is not installed. Debian
// does not put them into the PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return found[len(found)-1]
}

// start creates a cluster that listens at a socket in a directory, and starts it. The cluster
// flushes nothing, because these tests lose no power.
func start(initdb, pgctl, dir string) error {
	if owner := owner(); owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(dir, "data")
	options := "-k " + dir + " -c listen_addresses= -c fsync=off -c max_connections=200"
	return errors.Join(
		command(initdb, "-D", data, "-U", "weft", "-A", "trust", "-E", "UTF8", "--no-sync"),
		command(pgctl, "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start"))
}

// command runs a program of PostgreSQL, as a user other than root.
func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = "/"
	if owner := owner(); owner != nil {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	}
	if name := filepath.Base(name); name == "pg_ctl" {
		return c.Run() // a pipe would be kept open by the server
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}

// owner returns the credential of the user postgres if this process runs as root. Otherwise it
// returns nil, which means the process's own user.
func owner() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil // the program reports what is wrong
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

var schemas atomic.Int64

// database returns the URL of a new schema. It skips the test if there is no PostgreSQL.
func database(t *testing.T) string {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	name := fmt.Sprint("test", schemas.Add(1))
	url := fmt.Sprintf("host=%s user=weft dbname=postgres search_path=%s pool_max_conns=8", socketDir, name)
	c, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s user=weft dbname=postgres", socketDir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), "CREATE SCHEMA "+name)
	if err = errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return url
}
