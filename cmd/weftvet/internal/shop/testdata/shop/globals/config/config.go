// Package config has variables that the package globals reads.
package config

import "os"

// The settings.
var (
	Name    string
	Label   string
	Env     = fromEnv("NAME")
	Version = "1"
)

// Set sets the name.
func Set(name string) { Name = name }

func fromEnv(key string) string { return os.Getenv(key) }
