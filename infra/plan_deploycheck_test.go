//go:build deploycheck

package infra_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/internal/lambdahost"
)

// planned is a resource that Terraform is about to make, with the values that it knows before.
type planned struct {
	Type   string
	Index  any // the key among those of its name, where there are several
	Values map[string]any
}

// plan are the resources that the Terraform module makes with these variables. Nothing is asked of AWS but whose account it is, which a
// server of the test's answers. Terraform is that of PATH, and has its provider from where its configuration says.
func plan(t *testing.T, variables map[string]any) []planned {
	t.Helper()
	module, err := filepath.Abs("terraform")
	if err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"source": module, "package": "weft.zip"}
	for name, value := range variables {
		call[name] = value
	}
	root, err := json.Marshal(map[string]any{
		"provider": map[string]any{"aws": map[string]any{
			"region": lambdahost.Region, "access_key": "test", "secret_key": "test",
			"skip_credentials_validation": true, "skip_metadata_api_check": true, "endpoints": []any{map[string]any{"sts": account(t)}},
		}},
		"module": map[string]any{"weft": call},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{"main.tf.json": root, "weft.zip": nil} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	terraform(t, folder, "init", "-input=false")
	terraform(t, folder, "plan", "-input=false", "-refresh=false", "-out=plan")
	var shown struct {
		Values struct {
			Root struct {
				Modules []struct{ Resources []planned } `json:"child_modules"`
			} `json:"root_module"`
		} `json:"planned_values"`
	}
	if err := json.Unmarshal(terraform(t, folder, "show", "-json", "plan"), &shown); err != nil || len(shown.Values.Root.Modules) != 1 {
		t.Fatalf("the plan has %d modules: %v", len(shown.Values.Root.Modules), err)
	}
	return shown.Values.Root.Modules[0].Resources
}

func terraform(t *testing.T, folder string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "terraform", args...)
	command.Dir, command.Env = folder, append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color")
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
	return out
}

// account answers whose account it is.
func account(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
			`<Arn>arn:aws:iam::%[1]s:user/test</Arn><UserId>test</UserId><Account>%[1]s</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
			lambdahost.Account)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
