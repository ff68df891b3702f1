package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"stoic/schema"
)

// document is one document of a file: its text, and its position.
type document struct {
	text []byte
	line int
	// column is how many characters precede the text on its first line.
	column int
	// indent is how many characters precede every line of the text: it is part of another document.
	indent int
	// whole is where all of the text is, if its lines are not lines of the file.
	whole *place
	// found is set if the file was found in a folder, and not named by the user.
	found bool
	// file is what Helm names as the source of the document; empty if unknown.
	file string
	// before is the text between the previous document and this one, including its line of dashes, if it contains a comment.
	before []byte
	// after is the text behind the last document, if it contains a comment.
	after []byte
}

// documents splits a file as kubectl does: JSON values one after the other, or YAML documents between lines that begin with three dashes.
// Documents without content are left out.
//
// With rendered set, the content is what a program printed. Helm puts a comment with the name of a template before what it renders from
// it: "# Source: chart/templates/job.yaml". The comment applies until the next one, and lines are counted from the line after it. Only
// comments before all content of a document count: any other may be a line of a user's script.
func documents(content []byte, rendered bool) []document {
	content = bytes.TrimPrefix(inUTF8(content), []byte("\uFEFF"))
	if values, ok := jsonDocuments(content); ok {
		return values
	}
	s := splitting{rendered: rendered}
	for line := range bytes.Lines(content) {
		s.add(line)
	}
	s.flush()
	if last := len(s.found) - 1; last >= 0 {
		s.found[last].after = s.comments
	}
	return s.found
}

// inUTF8 decodes UTF-16 with a byte order mark, which some shells write when output is redirected into a file.
func inUTF8(content []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return content
	}
	units := make([]uint16, 0, len(content)/2)
	for pair := range slices.Chunk(content[2:], 2) {
		if len(pair) < 2 {
			units = append(units, utf8.RuneError)
			break
		}
		units = append(units, order.Uint16(pair))
	}
	return []byte(string(utf16.Decode(units)))
}

// splitting is a file that is split into YAML documents.
type splitting struct {
	rendered bool
	found    []document
	line     int
	current  document
	begun    bool   // current has content
	dashes   []byte // the line before current
	skipped  []byte // lines of current before the last in which Helm names a file
	naming   []byte // that line
	comments []byte // documents that hold comments alone, since the last one with content
}

// add adds the next line of the file.
func (s *splitting) add(line []byte) {
	s.line++
	if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && !hasContent(rest) {
		s.flush()
		s.current = document{line: s.line, file: s.current.file}
		s.dashes = line
		return
	}
	if file := sourceIn(line); s.rendered && !s.begun && file != "" {
		s.skipped = slices.Concat(s.skipped, s.naming, s.current.text)
		s.naming, s.line, s.current = line, 0, document{file: file}
		return
	}
	s.begun = s.begun || hasContent(line)
	s.current.text = append(s.current.text, line...)
}

// flush ends the current document.
func (s *splitting) flush() {
	before := slices.Concat(s.dashes, s.skipped)
	if s.begun {
		if before = append(s.comments, before...); hasComment(before) {
			s.current.before = before
		}
		s.found, s.comments = append(s.found, s.current), nil
	} else if before = slices.Concat(before, s.naming, s.current.text); hasComment(before) {
		s.comments = append(s.comments, before...)
	}
	s.begun, s.skipped, s.naming = false, nil, nil
}

// hasComment reports whether text without content is more than spaces and dashes.
func hasComment(text []byte) bool { return bytes.IndexByte(text, '#') >= 0 }

// sourceIn returns the name of the file in Helm's comment, or empty. Nothing proves that Helm wrote it.
func sourceIn(line []byte) string {
	name, found := bytes.CutPrefix(line, []byte("# Source: "))
	if !found {
		return ""
	}
	return schema.Clean(string(bytes.TrimSpace(name)), 400)
}

// jsonDocuments reads content as JSON values; ok is false if it is anything else, such as YAML in braces.
func jsonDocuments(content []byte) (found []document, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	line, column, seen := 0, 0, 0 // of what was seen
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, false
		}
		start := int(decoder.InputOffset()) - len(raw)
		between := content[seen:start]
		if last := bytes.LastIndexByte(between, '\n'); last >= 0 {
			line, column = line+bytes.Count(between, []byte("\n")), utf8.RuneCount(between[last+1:])
		} else {
			column += utf8.RuneCount(between)
		}
		seen = start
		found = append(found, document{text: raw, line: line, column: column})
	}
	if hasContent(content[decoder.InputOffset():]) {
		return nil, false // More says no before a brace or a bracket that closes nothing, too
	}
	return found, true
}

// isTemplate reports whether the document was found in a folder and looks like a template, which is no YAML before it is rendered.
func (d document) isTemplate() bool { return d.found && bytes.Contains(d.text, []byte("{{")) }

// position returns the line and column in the file of a place in the document.
func (d document) position(at place) (line, column int) {
	if d.whole != nil {
		return d.whole.line, d.whole.column
	}
	if at.line == 1 {
		at.column += d.column
	}
	return d.line + at.line, at.column + d.indent
}

// hasContent reports whether the text contains anything but spaces and comments.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
