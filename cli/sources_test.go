package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"stoic/cli/command"
)

// source checks one file.
func (r *report) source(file string, content []byte) {
	_ = source{name: file, stdin: file == standardInput}.each(context.Background(), content, r.document)
}

// source converts one file.
func (c *converting) source(file string, content []byte) {
	_ = source{name: file, stdin: file == standardInput}.each(context.Background(), content, c.document)
}

const (
	otherKind = "apiVersion: v1\nkind: ConfigMap\n"
	wrongJob  = "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: 3\n"
	flowJob   = "{apiVersion: kubeflow.org/v1, kind: TFJob, spec: 3}\n"
	jsonJob   = `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","spec":3}`
)

// inUTF16 returns a text as a Windows shell redirects it into a file.
func inUTF16(text string, least bool) string {
	var b bytes.Buffer
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		if least {
			b.Write([]byte{byte(unit), byte(unit >> 8)})
		} else {
			b.Write([]byte{byte(unit >> 8), byte(unit)})
		}
	}
	return b.String()
}

// TestNothingIsPassedOver: each command that reads documents checks what follows the first document of a file, or rejects the file.
func TestNothingIsPassedOver(t *testing.T) {
	const further = "error: found a further document, must begin after a line --- [InvalidValue]\n"
	for name, test := range map[string]struct{ text, want string }{
		"behind the end of a document":               {otherKind + "...\n" + wrongJob, "x.yaml:3:1: " + further},
		"behind dashes":                              {otherKind + "--- " + flowJob, "x.yaml:3:5: " + further},
		"a tag behind dashes":                        {otherKind + "--- !!map\n" + wrongJob, "x.yaml:3:5: " + further},
		"behind a brace too many":                    {`{"kind":"ConfigMap"}} ` + jsonJob, "x.yaml:1:1: " + further},
		"behind a bracket":                           {`{"kind":"ConfigMap"}` + "\n] " + jsonJob, "x.yaml:1:1: " + further},
		"in the third document":                      {"kind: a\n---\nkind: b\n---\n" + otherKind + "...\n" + wrongJob, "x.yaml:7:1: " + further},
		"behind dashes, unreadable":                  {otherKind + "--- ]\"" + flowJob, "x.yaml:3:1: error: found a document that is not YAML: found unexpected end of stream, must be YAML or JSON [InvalidValue]\n"},
		"in a list":                                  {"[" + jsonJob + "]", "x.yaml:1:1: error: found a list, must be an object; write documents with a line --- between, or a List [TypeMismatch]\n"},
		"in UTF-16":                                  {inUTF16(otherKind+"---\n"+wrongJob, true), "x.yaml:6:7: error: spec: found number 3, must be an object [TypeMismatch]\n"},
		"in UTF-16, the most significant byte first": {inUTF16(otherKind+"---\n"+wrongJob, false), "x.yaml:6:7: error: spec: found number 3, must be an object [TypeMismatch]\n"},
	} {
		t.Chdir(t.TempDir())
		write(t, "x.yaml", []byte(test.text))
		out, _, code, err := runValidate("", "x.yaml")
		if code != 1 || err == nil || !strings.Contains(out, test.want) {
			t.Errorf("validate %s: exit %d, %v, want %s\n%s", name, code, err, test.want, out)
		}
		if !strings.Contains(test.want, further) {
			continue
		}
		out, talk, code := called("stoic", "convert", "x.yaml")
		if code != 1 || !strings.Contains(talk, test.want) {
			t.Errorf("convert %s: exit %d, stdout %q, stderr %q", name, code, out, talk)
		}
		out, _, code = called("stoic", "crd", "check", "x.yaml")
		if code != 1 || !strings.Contains(out, test.want) {
			t.Errorf("crd check %s: exit %d, %s", name, code, out)
		}
		out, talk, code = called("stoic", "validate", "--crd", "x.yaml", "x.yaml")
		if code != 2 || !strings.Contains(talk, "error: --crd x.yaml: line ") || !strings.Contains(talk, ": found a further document, must begin after a line ---\n") {
			t.Errorf("--crd %s: exit %d, stdout %q, stderr %q", name, code, out, talk)
		}
	}
}

// TestListsOfOthers: a list is an error if its objects would be checked, and counts as another kind otherwise.
func TestListsOfOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "patch.json", []byte(`[{"op": "add", "path": "/spec", "value": 3}]`))
	write(t, "widgets.yaml", []byte("- {apiVersion: example.com/v1, kind: Widget}\n"))
	write(t, "definitions.yaml", []byte("- "+definition))
	write(t, "crd.yaml", []byte(definition))
	const list = "found a list, must be an object; write documents with a line --- between, or a List"
	for _, test := range []struct {
		call, says string
		code       int
	}{
		{"validate patch.json", "0 documents checked, 0 rejected, 1 of other kinds skipped", 0},
		{"validate widgets.yaml", "0 documents checked, 0 rejected, 1 of other kinds skipped", 0},
		{"validate --crd crd.yaml widgets.yaml", "widgets.yaml:1:1: error: " + list, 1},
		{"validate --crd definitions.yaml patch.json", "--crd definitions.yaml: line 1: " + list, 2},
		{"crd check definitions.yaml", "definitions.yaml:1:1: error: " + list, 1},
		{"convert patch.json", "patch.json:1:1: error: found a list, must be an object", 1},
	} {
		out, talk, code := called(append([]string{"stoic"}, strings.Fields(test.call)...)...)
		if code != test.code || !strings.Contains(out+talk, test.says) {
			t.Errorf("%s: exit %d, want %d %s\n%s%s", test.call, code, test.code, test.says, out, talk)
		}
	}
}

// TestOneDocument: the end marker of a document, and comments after it, are no further document.
func TestOneDocument(t *testing.T) {
	for _, text := range []string{otherKind + "...\n", otherKind + "...\n# c\n---\n", `{"kind":"ConfigMap"}` + "\n\n", "kind: ConfigMap\r\n...\r\n",
		"--- {kind: ConfigMap}\n", `{"kind":"ConfigMap"} # c`, "{kind: ConfigMap}\n# c\n"} {
		var r report
		r.source("x", []byte(text))
		if r.Summary.Errors != 0 || r.Summary.Skipped != 1 {
			t.Errorf("%q: %+v, %+v", text, r.Summary, r.Results)
		}
	}
}

// TestColumnsOfJSON: columns count characters, as those of YAML do.
func TestColumnsOfJSON(t *testing.T) {
	var r report
	r.source("x", []byte(`{"kind":"é"} {"kind":"é"} `+jsonJob+"\n"+`{"kind":"日本"} `+jsonJob))
	var got [][2]int
	for _, f := range r.Results {
		if f.Path == "spec" {
			got = append(got, [2]int{f.Line, f.Column})
		}
	}
	if diff := cmp.Diff([][2]int{{1, 81}, {2, 69}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFolders: which files the name of a folder means.
func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"real/a.yaml", "real/below/b.json", "real/note.txt", "elsewhere/c.yml", "empty/note.txt"} {
		write(t, file, []byte(otherKind))
	}
	for link, target := range map[string]string{"linked": "real", "real/d.yaml": "../elsewhere/c.yml", "real/folder.yaml": "../elsewhere", "real/other": "../elsewhere", "circle": "circle"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		folder    string
		recursive bool
		want      []string
		wrong     string
	}{
		{"real", false, []string{"real/a.yaml", "real/d.yaml"}, ""},
		{"linked", false, []string{"linked/a.yaml", "linked/d.yaml"}, ""},
		{"./linked/", true, []string{"linked/a.yaml", "linked/below/b.json", "linked/d.yaml"}, ""},
		{"empty", true, nil, "empty: no file ends in .yaml"},
		{"circle", true, nil, "circle: too many levels of symbolic links"},
	} {
		sources, unreadable := (&sourceFlags{recursive: test.recursive}).sourcesOf(t.Context(), []string{test.folder})
		var got []string
		for _, s := range sources {
			got = append(got, filepath.ToSlash(s.name))
			if _, err := s.read(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.folder, diff)
		}
		if err := errors.Join(unreadable...); (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v, want %q", test.folder, err, test.wrong)
		}
	}
}

// TestEmptyInput: standard input without a document is an error: the program before the pipe has failed. An empty file is valid.
func TestEmptyInput(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "empty.yaml", []byte("# nothing\n---\n"))
	for _, command := range []string{"validate", "convert"} {
		for file, test := range map[string]struct {
			code int
			says string
		}{"-": {2, "error: <stdin>: holds no document\n"}, "empty.yaml": {0, ""}} {
			out, talk, code := called("stoic", command, "-f", file)
			if code != test.code || !strings.Contains(talk, test.says) {
				t.Errorf("%s %s: exit %d, want %d, stdout %q, stderr %q", command, file, code, test.code, out, talk)
			}
		}
	}
}

// TestInterruptedBetweenDocuments: after a signal no further document is processed, and the call does not end as if all had been.
func TestInterruptedBetweenDocuments(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml"} {
		write(t, filepath.Join(folder, name), []byte("kind: a\n---\nkind: b\n"))
	}
	for _, after := range []int{1, 2, 3, 4} {
		ctx, stop := context.WithCancel(t.Context())
		seen := 0
		err := (&sourceFlags{files: []string{folder}}).read(ctx, nil, func(string, document) {
			if seen++; seen == after {
				stop()
			}
		})
		if seen != after || !errors.Is(err, command.ErrInterrupted) {
			t.Errorf("stopped after %d: %d seen, %v", after, seen, err)
		}
	}
}

// TestInterruptedWhileItReadsFiles: a signal ends a command that waits for another program to write into a named pipe.
func TestInterruptedWhileItReadsFiles(t *testing.T) {
	for name, args := range map[string][]string{
		"validate":    {"validate"},
		"--crd":       {"validate", "x", "--crd"},
		"convert":     {"convert"},
		"certificate": {"webhook", "certificate", "-f"},
		"crd check":   {"crd", "check"},
		"--against":   {"crd", "check", "x", "--against"},
	} {
		pipe := filepath.Join(t.TempDir(), "pipe.yaml") // the reader of a former one may still be there
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, pipe)
		var out, talk bytes.Buffer
		ended := make(chan int, 1)
		go func() { ended <- Main(append([]string{"stoic"}, args...), strings.NewReader(""), &out, &talk) }()
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for a reader
		if err != nil {
			t.Fatal(err)
		}
		interrupt(t, name, ended, &out, &talk)
		_ = writer.Close()
	}
}

// TestAwait: await does not wait for what does not end, and starts nothing after the end.
func TestAwait(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	if got, err := command.Await(ctx, func() (int, error) { return 3, io.EOF }); got != 3 || err != io.EOF {
		t.Errorf("%d, %v", got, err)
	}
	forever := make(chan int)
	if _, err := command.Await(ctx, func() (int, error) { stop(); return <-forever, nil }); err != command.ErrInterrupted {
		t.Error(err)
	}
	close(forever)
	if _, err := command.Await(ctx, func() (int, error) { t.Error("it has begun"); return 0, nil }); err != command.ErrInterrupted {
		t.Error(err)
	}
}
