package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Input are the flags of a command that sends an input.
type Input struct {
	Input  *string  `short:"d" xor:"input" placeholder:"JSON|@FILE|-" help:"The input: JSON, @file for the content of a file, or - for standard input. Without it and -f there is none."`
	Fields []string `name:"field" short:"f" xor:"input" sep:"none" placeholder:"NAME=VALUE" lookup:"fields" help:"A field of the input, in place of -d: sku=tea, or item.sku=tea for a field of a field. The contract says whether a value is a number, a duration (wait=90s), a truth value or a text. NAME:=JSON sets any value."`
}

// maxInput is the largest input that is read, in bytes. No deployment takes one as large.
const maxInput = 64 << 20

// Read returns the input, or nil if there is none. It is valid JSON. Of fields it returns what
// Typed returns without a contract.
func (i Input) Read(s *Session) (json.RawMessage, error) {
	if len(i.Fields) > 0 {
		return i.Typed(nil)
	}
	text, from, err := i.read(s)
	if err != nil || from == "" {
		return nil, err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, Errorf(Usage, "%s is empty: leave -d out to send none", from)
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		hint := ""
		if first := strings.TrimLeft(*i.Input, " \t\n"); first != "" && !strings.ContainsRune(`{["@-`, rune(first[0])) {
			hint = `: a text needs double quotes, as -d '"text"', and a file @`
		}
		return nil, Errorf(Usage, "%s is no JSON: %w%s%s", from, err, position(text, err), hint)
	}
	return text, nil
}

// read returns the text of the input, and where it is from; an empty from if there is none.
func (i Input) read(s *Session) (text []byte, from string, err error) {
	if i.Input == nil {
		return nil, "", nil
	}
	switch path, file := strings.CutPrefix(*i.Input, "@"); {
	case *i.Input == "-", path == "-" && file:
		text, err = limited(s.In)
		from = "standard input"
	case file:
		from = path
		text, err = readInput(path)
	default:
		return []byte(*i.Input), "the input", nil
	}
	if err != nil {
		return nil, "", Errorf(Usage, "the input: %w", err)
	}
	return text, from, nil
}

func readInput(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return limited(f)
}

func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = errors.New("it has more than 64 MiB")
	}
	return text, err
}

// position says where a syntax error is.
func position(text []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 1 || syntax.Offset > int64(len(text)) {
		return ""
	}
	before := text[:syntax.Offset-1]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(" (line %d, column %d)", line, column)
}

// ReadToken reads a token from a file, or from standard input for -.
func ReadToken(s *Session, path string) (string, error) {
	var text []byte
	var err error
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(s.In, maxConfig))
	} else {
		text, err = readFile(path)
	}
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", Errorf(Usage, "the token: %w", err)
	case token == "" || strings.ContainsAny(token, "\r\n"):
		return "", Errorf(Usage, "%s has no token in one line", path)
	}
	return token, nil
}
