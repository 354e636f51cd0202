//go:build aws && unix

package localstack_test

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServersStop ends localstack/servers as make does: the SIGTERM of the group comes a second
// time, from make. Nothing is left: neither the server, nor the command, nor what the command has
// started in a session of its own.
func TestServersStop(t *testing.T) {
	t.Parallel()
	const command = `
import os, subprocess
own = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(os.getpid(), own.pid, os.environ["WEFT_DYNAMODB"], flush=True)
own.wait()`
	servers := exec.Command("./servers", "run", "dynamodb-local", "--", filepath.Join(".servers", "localstack", "bin", "python"), "-c", command)
	servers.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := servers.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := servers.Start(); err != nil {
		t.Fatal(err)
	}
	var child, own int
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &child, &own)
	}
	if err != nil {
		t.Fatalf("%q: %v", line, errors.Join(err, servers.Process.Signal(syscall.SIGTERM), servers.Wait()))
	}
	server := listed(t, servers.Process.Pid)
	for range 2 {
		if err := syscall.Kill(-servers.Process.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	if err := servers.Wait(); servers.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("it ends with %v; want the status of a SIGTERM", err)
	}
	for _, pid := range append(server, child, own) {
		// One that has ended is in no list, or as a zombie until process 1 has looked.
		if state := ps(pid, "stat"); state != "" && !strings.HasPrefix(state, "Z") {
			t.Errorf("process %d is left: %s", pid, ps(pid, "args"))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// listed returns the processes whose parent is this one: the servers and the command.
func listed(t *testing.T, parent int) (pids []int) {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var pid, of int
		if _, err := fmt.Sscan(line, &pid, &of); err == nil && of == parent {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 {
		t.Errorf("%d has the processes %d below it; want a server and the command", parent, pids)
	}
	return pids
}

func ps(pid int, column string) string {
	out, _ := exec.Command("ps", "-o", column+"=", "-p", fmt.Sprint(pid)).Output()
	return strings.TrimSpace(string(out))
}
