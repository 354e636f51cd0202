package where

import (
	"strconv"
	"strings"
)

// maxStack is the largest number of frames that OfPanic returns.
const maxStack = 20

// OfPanic returns the frames of a stack text that say where the author's code is, the innermost
// first: from the place of the panic, if there is one, to the last frame of the author's. The
// frames of Weft and of package runtime before the author's are left out. It returns at most 20
// frames, and none if no frame is the author's.
func OfPanic(text string) []Frame {
	var all []Frame
	last, begun := 0, false
	for _, found := range frame.FindAllStringSubmatch(text[max(0, strings.Index(text, "\npanic(")):], -1) {
		line, err := strconv.Atoi(found[3])
		f := Frame{File: found[2], Line: line, Function: found[1]}
		switch own := f.Author(); {
		case err != nil, f.Function == "panic", strings.HasPrefix(f.Function, "runtime."):
			continue
		case !own && !begun && !standard(f.Function): // Weft's
			continue
		case own:
			last = len(all) + 1
		}
		begun = true
		if all = append(all, f); len(all) == maxStack {
			break
		}
	}
	return all[:last]
}

// String returns the frame as a line: the function, and the file with its line.
func (f Frame) String() string { return f.Name() + " " + f.File + ":" + strconv.Itoa(f.Line) }
