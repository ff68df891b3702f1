package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"stoic/schema"
)

// source is one file, or standard input.
type source struct {
	name  string // as messages show it
	stdin bool
}

// standardInput is the name of what has none.
const standardInput = "<stdin>"

// registerFiles is for commands that read what sourcesOf finds.
func registerFiles(flags *pflag.FlagSet, files *[]string, recursive *bool) {
	flags.StringSliceVarP(files, "filename", "f", nil, "a file, a folder, or - for standard input; may be given more than once")
	flags.BoolVarP(recursive, "recursive", "R", false, "also look into the folders of a folder")
}

// sourcesOf finds the files behind arguments: a folder stands for the manifests in it, in order of name.
func sourcesOf(arguments []string, recursive bool) (sources []source, unreadable []error) {
	for _, argument := range arguments {
		if argument == "-" {
			sources = append(sources, source{name: standardInput, stdin: true})
			continue
		}
		info, err := os.Stat(argument)
		switch {
		case err != nil:
			unreadable = append(unreadable, err)
		case !info.IsDir():
			sources = append(sources, source{name: argument})
		default:
			found, errs := manifestsIn(argument, recursive)
			if len(found) == 0 && len(errs) == 0 {
				errs = append(errs, fmt.Errorf("%s: no file ends in .yaml, .yml or .json; -R looks into folders, too", argument))
			}
			sources, unreadable = append(sources, found...), append(unreadable, errs...)
		}
	}
	return sources, unreadable
}

// manifestsIn lists what a folder holds. A folder below that cannot be read does not hide the others.
func manifestsIn(folder string, recursive bool) (found []source, unreadable []error) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			unreadable = append(unreadable, err)
		case entry.IsDir() && path != folder && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			found = append(found, source{name: path})
		}
		return nil
	})
	return found, unreadable
}

func (s source) read(in io.Reader) ([]byte, error) {
	if s.stdin {
		return io.ReadAll(in)
	}
	return os.ReadFile(s.name)
}

// readSources calls see for the content of each file behind arguments, and continues after one that it cannot read: it returns those
// together when all are read. A signal ends it at once.
func readSources(arguments []string, recursive bool, in io.Reader, see func(s source, content []byte)) error {
	sources, unreadable := sourcesOf(arguments, recursive)
	for _, s := range sources {
		content, err := s.read(in)
		switch {
		case errors.Is(err, errInterrupted):
			return err
		case err != nil:
			unreadable = append(unreadable, err)
		default:
			see(s, content)
		}
	}
	if len(unreadable) > 0 {
		return &exitError{code: 2, err: errors.Join(unreadable...)}
	}
	return nil
}

// document is one document of a file: its text, and the lines before it.
type document struct {
	text []byte
	line int
	// column is how many bytes stand before the text on its first line.
	column int
	// file is what Helm says that the document was made from; empty if no one says so.
	file string
}

// documents splits a file as kubectl does: JSON values one after the other, or YAML documents between lines that
// begin with three dashes. Documents without content are left out.
//
// With rendered set, the content is what a program printed. Helm puts a comment with the name of the template in
// front of what it made from it: "# Source: chart/templates/job.yaml". It holds until the next one, and lines are
// counted from the line after it. Only a comment in front of all content of a document is one: any other may be a
// line of somebody's script.
func documents(content []byte, rendered bool) []document {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if values, ok := jsonDocuments(content); ok {
		return values
	}
	var found []document
	current, begun := document{}, false
	flush := func(next int) {
		if begun {
			found = append(found, current)
		}
		current, begun = document{line: next, file: current.file}, false
	}
	line := 0
	for text := range bytes.Lines(content) {
		line++
		if rest, ok := bytes.CutPrefix(text, []byte("---")); ok && !hasContent(rest) {
			flush(line)
			continue
		}
		if file := sourceIn(text); rendered && !begun && file != "" {
			line, current = 0, document{file: file}
			continue
		}
		begun = begun || hasContent(text)
		current.text = append(current.text, text...)
	}
	flush(0)
	return found
}

// sourceIn is the name of the file in Helm's comment, or empty. Nothing says that Helm wrote it.
func sourceIn(line []byte) string {
	name, _ := bytes.CutPrefix(line, []byte("# Source: "))
	if len(name) == len(line) {
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
	line, lineStart, seen := 0, 0, 0 // of what was seen
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, false
		}
		start := int(decoder.InputOffset()) - len(raw)
		between := content[seen:start]
		line += bytes.Count(between, []byte("\n"))
		if last := bytes.LastIndexByte(between, '\n'); last >= 0 {
			lineStart = seen + last + 1
		}
		seen = start
		found = append(found, document{text: raw, line: line, column: start - lineStart})
	}
	return found, true
}

// position of a place in the document, in its file.
func (d document) position(at place) (line, column int) {
	if at.line == 1 {
		at.column += d.column
	}
	return d.line + at.line, at.column
}

// hasContent: anything but spaces and comments.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
