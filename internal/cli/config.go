package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Config is the file of profiles.
type Config struct {
	// Default names the profile of a command that is given no deployment.
	Default string `yaml:"default"`
	// Profiles are the deployments by name.
	Profiles map[string]Profile `yaml:"profiles"`
}

// Profile says how to reach a deployment. It has either a URL or a stack.
type Profile struct {
	// URL is the address of the API.
	URL string `yaml:"url"`
	// Stack is the name of a CloudFormation stack, whose output Url is the address.
	Stack string `yaml:"stack"`
	// Region is that of the stack, and of signatures.
	Region string `yaml:"region"`
	// AWSProfile is the profile of the AWS configuration.
	AWSProfile string `yaml:"awsProfile"`
	// Auth is auto, aws, bearer or none; empty is auto.
	Auth string `yaml:"auth"`
	// TokenFile is the file of the bearer token: absolute, below ~/, or relative to the file of
	// profiles.
	TokenFile string `yaml:"tokenFile"`
}

// maxConfig is the largest file of profiles, and of a token, in bytes.
const maxConfig = 1 << 20

// configFile returns the path of the file of profiles, and whether the user named it.
func (s *Session) configFile() (path string, named bool) {
	if path := s.Getenv("WEFT_CONFIG"); path != "" {
		return path, true
	}
	folder := s.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) {
		if s.Home == "" {
			return "", false
		}
		folder = filepath.Join(s.Home, ".config")
	}
	return filepath.Join(folder, "weft", "config.yaml"), false
}

// config reads the file of profiles. Without a file there are none.
func (s *Session) config() (c Config, path string, err error) {
	path, named := s.configFile()
	if path == "" {
		return c, path, nil
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return c, path, nil
	}
	if err != nil {
		return c, path, Errorf(Usage, "the profiles: %w", err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return c, path, Errorf(Usage, "%s: %s", path, configProblem(err))
	}
	return c, path, nil
}

// unknownKey matches what the decoder says of a key that a file of profiles does not have.
var unknownKey = regexp.MustCompile(`line (\d+): field (\S+) not found in type cli\.(\w+)`)

// configProblem returns in the words of the file what is wrong in it.
func configProblem(err error) string {
	if found := unknownKey.FindStringSubmatch(err.Error()); found != nil {
		of, keys := "file", keysOf[Config]()
		if found[3] == "Profile" {
			of, keys = "profile", keysOf[Profile]()
		}
		return fmt.Sprintf("line %s: a %s has no key %q: it has %s", found[1], of, found[2], strings.Join(keys, ", "))
	}
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
}

// keysOf returns the keys of a struct in YAML.
func keysOf[T any]() (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// profile returns a profile, or an error that names those that exist.
func (c Config) profile(name, path string) (Profile, error) {
	p, ok := c.Profiles[name]
	switch {
	case !ok && len(c.Profiles) == 0:
		return p, Errorf(Usage, "there is no profile %q: write it to %s", name, path)
	case !ok:
		return p, Errorf(Usage, "there is no profile %q in %s: there are %s", name, path, strings.Join(slices.Sorted(maps.Keys(c.Profiles)), ", "))
	case (p.URL == "") == (p.Stack == ""):
		return p, Errorf(Usage, "profile %q in %s: give either url or stack", name, path)
	}
	return p, nil
}

// Profiles returns the names of the profiles.
func (s *Session) Profiles() ([]string, error) {
	c, _, err := s.config()
	return slices.Sorted(maps.Keys(c.Profiles)), err
}

// readFile reads a file of at most maxConfig bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxConfig {
		return nil, fmt.Errorf("%s has %d bytes, and may have %d", path, info.Size(), maxConfig)
	}
	return os.ReadFile(path)
}

// expand returns a path that a file of profiles names.
func (s *Session) expand(path, config string) string {
	switch rest, home := strings.CutPrefix(path, "~/"); {
	case home:
		return filepath.Join(s.Home, rest)
	case path != "" && !filepath.IsAbs(path):
		return filepath.Join(filepath.Dir(config), path)
	}
	return path
}
