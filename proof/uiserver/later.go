package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/program"
)

// aheadBy is the variable with the time by which the server's clock is ahead, such as 1h. With it,
// the server serves a data directory as it will be then: what has just closed can be deleted.
const aheadBy = "UISERVER_AHEAD"

// serveLater serves the data directory of the flags until the process is told to end.
func serveLater(ahead time.Duration) error {
	addr, dir := flag.String("addr", "127.0.0.1:0", "the address"), flag.String("data", "", "the data directory")
	flag.Parse()
	registry, err := program.Registry(registrations()...)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := local.Open(registry, local.Options{Dir: *dir, Clock: func() time.Time { return time.Now().Add(ahead) }, Log: slog.Default()})
	if err != nil {
		return err
	}
	l, err := local.Listen(*addr)
	if err != nil {
		return err
	}
	fmt.Printf("Its web page is at http://%s\n", l.Addr())
	if err := server.Serve(ctx, l); err != nil {
		return err
	}
	return server.Close()
}
