package determinism

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

const directive = "//weftvet:"

// ignore is a comment that silences rules.
type ignore struct {
	comment *ast.Comment
	file    string
	// The rules are silenced on these lines.
	from, to int
	rules    []string
	used     []string
	problem  string // why it silences nothing
}

// findIgnores reads the comments that silence rules.
func (p *pkg) findIgnores() {
	for _, f := range p.pass.Files {
		var code map[int]bool
		for _, group := range f.Comments {
			for _, c := range group.List {
				if !strings.HasPrefix(c.Text, directive) {
					continue
				}
				if code == nil {
					code = p.linesWithCode(f)
				}
				i := parseIgnore(c)
				i.file = p.pass.Fset.Position(c.Pos()).Filename
				i.from, i.to = p.covers(f, group, c, code)
				p.ignores = append(p.ignores, i)
			}
		}
	}
}

// parseIgnore reads "//weftvet:ignore rule,rule reason".
func parseIgnore(c *ast.Comment) *ignore {
	i := &ignore{comment: c}
	verb, rest, _ := strings.Cut(strings.TrimPrefix(c.Text, directive), " ")
	rules, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	i.rules = strings.Split(rules, ",")
	switch unknown := slices.IndexFunc(i.rules, func(r string) bool { return !known(r) }); {
	case verb != "ignore":
		i.problem = "weftvet knows no comment " + directive + verb + ": write " + directive + "ignore rule reason"
	case rules == "":
		i.problem = "say which rule is silenced, and why: " + directive + "ignore rule reason"
	case unknown >= 0:
		i.problem = "weftvet has no rule " + i.rules[unknown] + ": docs/weftvet.md has their ids"
	case strings.TrimSpace(reason) == "":
		i.problem = "say why the rule is silenced: " + directive + "ignore " + rules + " reason"
	}
	return i
}

// covers returns the lines on which a comment silences rules. These are its own line, and the one
// after its group if it has a line of its own. In the comment of a function, they are the lines of
// the function.
func (p *pkg) covers(f *ast.File, group *ast.CommentGroup, c *ast.Comment, code map[int]bool) (from, to int) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Doc == group {
			return p.line(d.Pos()), p.line(d.End())
		}
	}
	from = p.line(c.Pos())
	if code[from] {
		return from, from
	}
	return from, p.line(group.End()) + 1
}

func (p *pkg) line(pos token.Pos) int { return p.pass.Fset.Position(pos).Line }

// linesWithCode returns the lines on which something begins or ends that is not a comment.
func (p *pkg) linesWithCode(f *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup, *ast.Comment:
			return false
		}
		lines[p.line(n.Pos())], lines[p.line(n.End())] = true, true
		return true
	})
	return lines
}

// silenced reports whether a comment silences a rule at a position.
func (p *pkg) silenced(rule string, pos token.Pos) bool {
	at := p.pass.Fset.Position(pos)
	for _, i := range p.ignores {
		if i.problem == "" && i.file == at.Filename && i.from <= at.Line && at.Line <= i.to && slices.Contains(i.rules, rule) {
			if !slices.Contains(i.used, rule) {
				i.used = append(i.used, rule)
			}
			return true
		}
	}
	return false
}
