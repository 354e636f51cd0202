package adapter

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
)

// buildID returns the name of the running code. The functions of a deployment should agree on it
// even if they are separate programs, so it is the commit that they were built from. If the commit
// is unknown or modified, it is derived from the program.
func buildID() string {
	const enough = 12
	revision, modified := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				modified = s.Value == "true"
			}
		}
	}
	if len(revision) >= enough && !modified {
		return revision[:enough]
	}
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	h := sha256.New()
	if note := linkerID(path); note != nil {
		h.Write(note)
	} else if copyFile(h, path) != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil))[:enough]
}

// linkerID returns the id that Go's linker derived from the program's contents, or nil if the
// program has none. Reading the whole program instead would make a cold start half as long again.
func linkerID(path string) []byte {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	section := f.Section(".note.go.buildid")
	if section == nil {
		return nil
	}
	const header = 16 // the note's sizes, type and name
	note, err := section.Data()
	if err != nil || len(note) <= header {
		return nil // linked with -buildid=
	}
	return note[header:]
}

func copyFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(to, f)
	return err
}
