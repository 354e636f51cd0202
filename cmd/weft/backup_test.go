package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/local"
)

// A backup that is written under load has every update that was acknowledged before it began. The
// restored runs continue.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	url, end := serveDir(t, dir)
	const n = 4
	carts(t, url, n)
	var acknowledged [n]atomic.Int64
	var enough, all sync.WaitGroup
	enough.Add(n)
	stop := make(chan struct{})
	for i := range n {
		acknowledged[i].Store(1)
		all.Go(func() {
			for more := 2; ; more++ {
				if more == 5 {
					enough.Done()
				}
				select {
				case <-stop:
					return
				default:
				}
				total, err := cart.AddItem.Call(t.Context(), client.New(url), fmt.Sprint("cart-", i), cart.Item{SKU: "tea", Quantity: 1})
				if err != nil && more <= 5 || err == nil && total.Items != more {
					t.Errorf("item %d: %+v, %v", more, total, err)
				}
				if err != nil { // a cart takes only so many items
					return
				}
				acknowledged[i].Store(int64(more))
			}
		})
	}
	enough.Wait()
	var before [n]int64
	for i := range before {
		before[i] = acknowledged[i].Load()
	}
	file := filepath.Join(t.TempDir(), "weft.backup")
	out, err := command(t, "backup "+file+" --url="+url)
	close(stop)
	all.Wait()
	if err != nil || !strings.Contains(out, "values") {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := command(t, "backup "+file+" --url="+url); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a backup over an existing file: %v", err)
	}
	end()
	again := filepath.Join(t.TempDir(), "again")
	if _, err := command(t, "restore --from="+file+" --data="+dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a restore into a directory that is not empty: %v", err)
	}
	if out, err := command(t, "restore --from="+file+" --data="+again); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := command(t, "compact --data="+again); err != nil || !strings.Contains(out, "tables: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := command(t, "check --data="+again); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	url, end = serveDir(t, again)
	defer end()
	for i := range n {
		id := fmt.Sprint("cart-", i)
		total, err := cart.AddItem.Call(t.Context(), client.New(url), id, cart.Item{SKU: "tea", Quantity: 1})
		if err != nil || int64(total.Items) <= before[i] {
			t.Errorf("%s continues with %+v, %v; %d items were acknowledged before", id, total, err, before[i])
		}
	}
}

// Without a server, the backup is read from the directory. A damaged backup is refused, and no
// directory is restored from it.
func TestBackupOffline(t *testing.T) {
	t.Parallel()
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "weft.backup")
	url, end := serveDir(t, dir)
	carts(t, url, 2)
	if _, err := command(t, "backup "+file+" --data="+dir); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a backup of a directory in use: %v", err)
	}
	end()
	if _, err := command(t, "backup "+file+" --data="+dir+" --url="+url); err == nil || !strings.Contains(err.Error(), "can't be used together") {
		t.Errorf("a backup of a directory and a server: %v", err)
	}
	if _, err := command(t, "backup "+file+" --url="+url); err == nil {
		t.Error("a backup of a stopped server succeeded")
	}
	memory := serve(t)
	if _, err := command(t, "backup "+file+" --url="+memory); err == nil || !strings.Contains(err.Error(), "only a local server") {
		t.Errorf("a backup of a server without a directory: %v", err)
	}
	if names, err := os.ReadDir(filepath.Dir(file)); err != nil || len(names) > 0 {
		t.Errorf("failed backups left %v, %v", names, err)
	}
	if out, err := command(t, "backup "+file+" --data="+dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	damage(t, file, 2, 1)
	again := filepath.Join(t.TempDir(), "again")
	if _, err := command(t, "restore --from="+file+" --data="+again); err == nil || !strings.Contains(err.Error(), "no whole backup") {
		t.Errorf("a restore of a damaged backup: %v", err)
	}
	if _, err := os.Stat(again); !os.IsNotExist(err) {
		t.Errorf("the directory was created: %v", err)
	}
}

// damage flips bits of one byte of a file, which is at the size of the file divided by part.
func damage(t *testing.T, file string, part int, bits byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/part] ^= bits
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A backup of a damaged directory is written, and the command fails with an error that says so. The
// error names runs, and shows no bytes of keys.
func TestBackupOfADamagedDirectory(t *testing.T) {
	t.Parallel()
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "weft.backup")
	url, end := serveDir(t, dir)
	carts(t, url, 40)
	end()
	tables, err := filepath.Glob(filepath.Join(dir, "tables", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables { // a slow server writes several
		damage(t, table, 4, 4)
	}
	offline := func(out string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "is incomplete") || !strings.Contains(out, `are missing: commits from workflow "cart-`) {
			t.Errorf("%v\n%q", err, out)
		}
	}
	offline(command(t, "backup "+file+" --data="+dir))
	if out, err := command(t, "check --data="+dir); err == nil || !strings.Contains(err.Error(), "restore an earlier backup") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := command(t, "restore --from="+file+" --data="+filepath.Join(t.TempDir(), "again")); err == nil || !strings.Contains(err.Error(), "--accept-damage") {
		t.Errorf("a restore of an incomplete backup: %v", err)
	}
	url, end = serveDir(t, dir)
	defer end()
	offline(command(t, "backup "+file+".2 --url="+url))
	if out, err := command(t, "restore --from="+file+".2 --accept-damage --data="+filepath.Join(t.TempDir(), "again")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The error for a file that is not a backup names the file.
func TestRestoreOfAnotherFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("not a backup of anything"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := command(t, "restore --from="+file+" --data="+filepath.Join(t.TempDir(), "again"))
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "no backup of Weft") {
		t.Error(err)
	}
}

// A backup without a token fails as the other commands do, and its error does not mention data
// directories.
func TestBackupWithoutItsToken(t *testing.T) {
	t.Parallel()
	server, err := local.Open(types(t), local.Options{Dir: filepath.Join(t.TempDir(), "data"), Auth: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	api := httptest.NewServer(server.Handler())
	defer api.Close()
	for _, token := range []string{"", " --token=wrong"} {
		_, listed := command(t, "list --url="+api.URL+token)
		_, err := command(t, "backup "+filepath.Join(t.TempDir(), "b")+" --url="+api.URL+token)
		if err == nil || listed == nil || cli.Text(err) != cli.Text(listed) {
			t.Errorf("backup: %v\nlist: %v", err, listed)
		}
	}
}

// A backup sends the token of the token file, as the other commands do.
func TestBackupSendsTheTokenOfTheFile(t *testing.T) {
	t.Parallel()
	var authorization atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization.Store(r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "backup "+filepath.Join(t.TempDir(), "b")+" --url="+server.URL+" --token-file="+file); err == nil || authorization.Load() != "Bearer secret" {
		t.Errorf("the server got %q, and the backup ended with %v", authorization.Load(), err)
	}
}
