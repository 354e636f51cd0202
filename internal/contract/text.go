package contract

import (
	"encoding/json"
	"fmt"
	"strings"
)

// String returns the type that a schema describes, in a line: "Item", "string or null", "list of
// Item", "one of "red", "blue"", "integer from 1 to 99". A nil schema is nothing.
func (s *Schema) String() string { return s.text(0) }

// maxTextDepth is how deeply a text says what lists and maps have.
const maxTextDepth = 4

func (s *Schema) text(depth int) string {
	switch {
	case s == nil:
		return "nothing"
	case s.Nothing:
		return "no value"
	case depth > maxTextDepth:
		return "..."
	}
	if name, ok := s.Refers(); ok {
		return name
	}
	if rest, nullable := s.Nullable(); nullable {
		return rest.text(depth) + " or null"
	}
	for _, all := range [][]*Schema{s.AnyOf, s.OneOf} {
		if len(all) > 0 {
			return joined(all, func(s *Schema) string { return s.text(depth + 1) })
		}
	}
	if len(s.AllOf) == 1 {
		return s.AllOf[0].text(depth + 1)
	}
	if len(s.Const) > 0 {
		return string(s.Const)
	}
	if len(s.Enum) > 0 {
		return "one of " + joinedBy(s.Enum, ", ", func(v json.RawMessage) string { return string(v) })
	}
	if len(s.Type) != 1 {
		if len(s.Type) == 0 {
			return "any value"
		}
		return strings.Join(s.Type, " or ")
	}
	return s.typeText(depth)
}

// typeText returns the text of a schema that has one type.
func (s *Schema) typeText(depth int) string {
	switch s.Type[0] {
	case "array":
		of := "list"
		if s.MinItems != nil && s.MaxItems != nil && *s.MinItems == *s.MaxItems {
			of = fmt.Sprintf("list of %d", *s.MinItems)
		}
		if s.Items == nil || s.Items.Any() {
			return of
		}
		return of + " of " + s.Items.text(depth+1)
	case "object":
		if s.Properties == nil && s.AdditionalProperties != nil {
			return "map of " + s.AdditionalProperties.text(depth+1)
		}
		return "object"
	case "integer", "number":
		if s.Format == "duration" {
			return s.Type[0] + " of nanoseconds" + s.bounds(s.Minimum, s.Maximum)
		}
		return s.Type[0] + s.bounds(s.Minimum, s.Maximum)
	case "string":
		return s.stringText()
	}
	return s.Type[0]
}

func (s *Schema) stringText() string {
	text := "string"
	switch {
	case s.Format != "":
		text = s.Format
	case s.ContentEncoding != "":
		text = s.ContentEncoding
	}
	if s.Pattern != "" {
		text += " like " + s.Pattern
	}
	switch {
	case s.MinLength != nil && s.MaxLength != nil:
		text += fmt.Sprintf(" of %d to %d characters", *s.MinLength, *s.MaxLength)
	case s.MinLength != nil:
		text += " of at least " + characters(*s.MinLength)
	case s.MaxLength != nil:
		text += " of at most " + characters(*s.MaxLength)
	}
	return text
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// bounds returns the bounds of a number as text.
func (s *Schema) bounds(least, most json.Number) string {
	switch {
	case least != "" && most != "":
		return fmt.Sprintf(" from %s to %s", least, most)
	case least != "":
		return fmt.Sprintf(" of at least %s", least)
	case most != "":
		return fmt.Sprintf(" of at most %s", most)
	}
	return ""
}

func joined[T any](all []T, text func(T) string) string { return joinedBy(all, " or ", text) }

func joinedBy[T any](all []T, by string, text func(T) string) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = text(all[i])
	}
	return strings.Join(texts, by)
}
