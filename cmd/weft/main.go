// Command weft runs the local server with the example workflows, and shows what it does.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the command line.
type commands struct {
	Dev       dev             `cmd:"" help:"Run the local server with the example workflows."`
	Demo      demo            `cmd:"" help:"Play a shopping cart through against a server of its own, and show what each step costs."`
	History   historyCommand  `cmd:"" help:"Print the history of a run as JSON, for weftest.Replay: weft history cart-42 > cart-42.json."`
	List      listCommand     `cmd:"" help:"List runs, those started last first: weft list \"ExecutionStatus = 'Running' AND Region = 'eu'\"."`
	Schedule  scheduleCommand `cmd:"" help:"Look at schedules, pause them, trigger them, and delete them."`
	Update    updateCommand   `cmd:"" help:"Fail an accepted update whose handler cannot complete it: weft update fail cart-42 add-7."`
	Check     check           `cmd:"" help:"Read a whole data directory and report what is damaged, with workflow and run: weft check --data .weft."`
	Backup    backup          `cmd:"" help:"Back a data directory up into a file, also while a server runs: weft backup weft.backup."`
	Restore   restore         `cmd:"" help:"Make a data directory of a backup: weft restore --from weft.backup --data .weft."`
	Compact   compact         `cmd:"" help:"Make a data directory as small as it gets while no server runs: weft compact --data .weft."`
	Terminate terminate       `cmd:"" help:"Terminate a run while no server runs: weft terminate order-2 --data .weft."`
	Template  template        `cmd:"" help:"Print what deploys a program to AWS."`
}

// said returns an error as the command prints it: the client's errors begin with the name already.
func said(err error) string {
	text := "weft: " + strings.TrimPrefix(err.Error(), "weft: ")
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		text += ": use an address that the certificate names; if the certificate is your own, set SSL_CERT_FILE to its file"
	}
	return text
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	k := kong.Parse(&c, kong.Name("weft"), kong.Description("Durable workflows without servers."), kong.BindTo(ctx, (*context.Context)(nil)))
	if err := k.Run(); err != nil {
		fmt.Fprintln(os.Stderr, said(err))
		os.Exit(1)
	}
}
