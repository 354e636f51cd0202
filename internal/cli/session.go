package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/internal/terminal"
)

// Session is what a command reads and writes, and what it knows of its surroundings.
type Session struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Width is the width of the terminal that Out is, in columns; 0 if it is none.
	Width int
	// Colour says that Out is a terminal that shows colours.
	Colour bool
	// Live says that Err is a terminal, on which a line can be replaced.
	Live bool
	// Getenv returns a variable of the environment.
	Getenv func(name string) string
	// Home is the user's home directory; empty if there is none.
	Home string
	// AWS loads the configuration of the AWS SDK, of a region and a profile; empty ones are the
	// defaults. Commands call LoadAWS.
	AWS func(ctx context.Context, region, profile string) (aws.Config, error)

	base    http.RoundTripper // sends requests that are not signed; nil is http.DefaultTransport
	mu      sync.Mutex
	visible bool // a status is on the last line of Err
}

// Process returns the session of this process.
func Process() *Session {
	home, _ := os.UserHomeDir() // without one, there are no profiles
	return &Session{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Home: home, AWS: awsConfig,
		Width: terminal.Width(os.Stdout), Colour: terminal.Colour(os.Stdout, os.Getenv), Live: terminal.Is(os.Stderr),
	}
}

// clearLine removes what is on the last line of a terminal.
const clearLine = "\r\x1b[K"

// Write writes to Out. A status that is visible is removed first.
func (s *Session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.Out.Write(p)
}

func (s *Session) clear() {
	if s.visible {
		_, _ = io.WriteString(s.Err, clearLine) // there is nowhere else to report that a terminal fails
	}
	s.visible = false
}

// Status shows a text on the last line of the terminal until something is written, or another
// status replaces it. An empty text removes it. Without a terminal it does nothing.
func (s *Session) Status(text string) {
	if !s.Live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text == "" {
		return
	}
	if s.Width > 1 {
		text = cut(text, s.Width-1) // a line that wraps cannot be replaced
	}
	_, _ = io.WriteString(s.Err, text)
	s.visible = true
}

// Note writes a line to Err that is no error. A status that is visible is removed first.
func (s *Session) Note(text string) {
	s.Status("")
	_, _ = io.WriteString(s.Err, Clean(text)+"\n") // who cannot be told this has got the rest
}

// patience is how long a command waits before it shows what it waits for.
const patience = 2 * time.Second

// during shows what a command waits for while f runs.
func (s *Session) during(what func() string, f func() error) error {
	if !s.Live {
		return f()
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		begun, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				if waited := now.Sub(begun); waited >= patience {
					s.Status("waiting for " + what() + " (" + waited.Truncate(time.Second).String() + ")")
				}
			}
		}
	}()
	err := f()
	close(stop)
	<-stopped
	s.Status("")
	return err
}
