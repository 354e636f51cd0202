package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// module is a module whose sources may be on this machine.
type module struct {
	path, version string
	folder        string
}

// modules are the program's module, and those that it requires.
type modules []module

var (
	moduleLine  = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)
	requireLine = regexp.MustCompile(`(?m)^(?:require)?\s*([^\s"()]+\.[^\s"()]+) (v[^\s]+)`)
	replaceLine = regexp.MustCompile(`(?m)^(?:replace)?\s*([^\s"()]+)(?: v\S+)? => (\.\S*|/\S*|[A-Za-z]:\S*)`)
)

// findModules finds the module of the working folder, and those that it requires: in its folder
// vendor, at the place of a replacement, or in the module cache. A program that runs elsewhere has
// none.
func findModules() (all modules) {
	folder, err := os.Getwd()
	if err != nil {
		return nil
	}
	var text []byte
	for {
		if text, err = os.ReadFile(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		above := filepath.Dir(folder)
		if above == folder {
			return nil
		}
		folder = above
	}
	own := moduleLine.FindSubmatch(text)
	if own == nil {
		return nil
	}
	all = append(all, module{path: string(own[1]), folder: folder})
	for _, m := range replaceLine.FindAllSubmatch(text, -1) {
		to := string(m[2])
		if !filepath.IsAbs(to) {
			to = filepath.Join(folder, to)
		}
		all = append(all, module{path: string(m[1]), folder: to})
	}
	cache := moduleCache()
	for _, m := range requireLine.FindAllSubmatch(text, -1) {
		path, version := string(m[1]), string(m[2])
		all = append(all, module{path: path, folder: filepath.Join(folder, "vendor", filepath.FromSlash(path))})
		if cache != "" {
			all = append(all, module{path, version, filepath.Join(cache, filepath.FromSlash(escape(path)+"@"+escape(version)))})
		}
	}
	return all
}

// moduleCache returns the folder of the module cache, or "".
func moduleCache() string {
	if cache := os.Getenv("GOMODCACHE"); cache != "" {
		return cache
	}
	if path := os.Getenv("GOPATH"); path != "" {
		return filepath.Join(filepath.SplitList(path)[0], "pkg", "mod")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "go", "pkg", "mod")
}

// escape returns a path as the module cache has it: each capital is "!" and the small letter.
func escape(path string) string {
	var b strings.Builder
	for _, r := range path {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// folder returns the folder of a package, or "" if its sources are not here.
func (all modules) folder(importPath string) string {
	for _, m := range all {
		rest, ok := strings.CutPrefix(importPath, m.path)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		at := filepath.Join(m.folder, filepath.FromSlash(rest))
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			return at
		}
	}
	return ""
}

// file returns where a file is whose path the compiler has recorded, or "". With -trimpath, that
// path begins with the package's. The version of a module other than the main one stands behind its
// path, after "@".
func (all modules) file(recorded string) string {
	if filepath.IsAbs(recorded) {
		if _, err := os.Stat(recorded); err != nil {
			return ""
		}
		return recorded
	}
	slash := strings.LastIndexByte(recorded, '/')
	if slash < 0 {
		return ""
	}
	folder, name := recorded[:slash], recorded[slash+1:]
	if before, after, ok := strings.Cut(folder, "@"); ok {
		_, rest, _ := strings.Cut(after+"/", "/")
		folder = strings.TrimSuffix(before+"/"+rest, "/")
	}
	if folder = all.folder(folder); folder == "" {
		return ""
	}
	at := filepath.Join(folder, name)
	if _, err := os.Stat(at); err != nil {
		return ""
	}
	return at
}
