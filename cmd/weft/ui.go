package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/pageproxy"
	weftversion "github.com/seed-41655fb1/weft/internal/version"
)

// uiCommand serves the web page for a deployment.
type uiCommand struct {
	Port       uint16 `placeholder:"PORT" help:"Port of 127.0.0.1 to listen at; 0 is a free one."`
	cli.Remote `embed:"" set:"timeoutHelp=How long the deployment may take to answer at the start; 0s is for ever."`
}

// Help returns the rest of the help.
func (uiCommand) Help() string {
	return "It runs until it is interrupted. Only this machine reaches it, and only the first browser that opens the printed address: that browser can then do what your credentials can."
}

// Run serves the page until the user interrupts it. It asks the deployment first, so that a command
// line that cannot work ends.
func (c uiCommand) Run(ctx context.Context, s *cli.Session) error {
	var to *cli.Deployment
	seen := ""
	err := c.Use(ctx, s, "the deployment", func(ctx context.Context, d *cli.Deployment) error {
		to = d
		described, err := d.Client().Deployment(ctx)
		if errors.Is(err, client.ErrNotFound) {
			return nil // of an older version
		}
		if err == nil {
			seen = described.Version
		}
		return err
	})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(c.Port))))
	if err != nil {
		return cli.Errorf(cli.Usage, "cannot listen at port %d: %w: choose another --port, or none for a free one", c.Port, err)
	}
	p := pageproxy.New(pageproxy.Options{
		URL: to.URL, Client: to.HTTP(), Version: weftversion.Weft(), Advice: to.Advice(),
		Note: func(line string) { _, _ = fmt.Fprintln(s.Err, cli.Clean(line)) }, // there is nowhere else to say it
	})
	err = cli.Line(s, "The page of %s is at\n  %s\nThis address works once, for one browser. Ctrl-C ends it.", cli.Clean(to.URL), p.Address(l))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	p.Saw(seen)
	return p.Serve(ctx, l)
}
