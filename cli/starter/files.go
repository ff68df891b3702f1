package starter

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed files
var templates embed.FS

// Files returns the files of the module, by their paths with slashes, except deploy/crd, which `stoic crd generate` makes from the
// types. The versions of the required modules are those of the engine.
func (o Operator) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(templates, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := o.render(name)
		if err != nil {
			return err
		}
		to := strings.TrimSuffix(strings.TrimPrefix(name, "files/"), ".tmpl")
		if to == "gitignore" {
			to = ".gitignore"
		}
		files[to] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write the files of the operator: %w", err)
	}
	if files["go.mod"], err = o.goMod(); err != nil {
		return nil, err
	}
	if files["go.sum"], err = os.ReadFile(filepath.Join(o.Engine, "go.sum")); err != nil {
		return nil, fmt.Errorf("read the sums of the engine's dependencies: %w", err)
	}
	return files, nil
}

func (o Operator) render(name string) ([]byte, error) {
	text, err := fs.ReadFile(templates, name)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, o); err != nil {
		return nil, err
	}
	if path.Ext(strings.TrimSuffix(name, ".tmpl")) != ".go" {
		return b.Bytes(), nil
	}
	formatted, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", name, err)
	}
	return formatted, nil
}

var (
	requirement = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)(?: // indirect)?$`)
	goVersion   = regexp.MustCompile(`(?m)^go \S+$`)
)

// needless returns modules that only tests of the engine and examples need. Without them go.mod is tidy, which a test checks.
func needless() []string {
	return []string{"github.com/google/go-cmp", "github.com/kylelemons/godebug", "golang.org/x/tools", "pgregory.net/rapid"}
}

// goMod requires what the engine requires: the program and the tool are compiled from the same versions.
func (o Operator) goMod() ([]byte, error) {
	engine, err := os.ReadFile(filepath.Join(o.Engine, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read what the engine requires: %w", err)
	}
	direct, indirect := "", ""
	for _, r := range requirement.FindAllStringSubmatch(string(engine), -1) {
		switch {
		case slices.Contains(needless(), r[1]):
		case slices.Contains([]string{"k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "sigs.k8s.io/yaml"}, r[1]):
			direct += "\t" + r[1] + " " + r[2] + "\n"
		default:
			indirect += "\t" + r[1] + " " + r[2] + " // indirect\n"
		}
	}
	return fmt.Appendf(nil, `module %s

%s

// go tool stoic: it generates and checks the CRD, and starts a control plane.
tool stoic/cmd/stoic

require (
%s)

require (
%s)

// stoic is not published: it is taken from its sources.
replace stoic => %s
`, o.Module, goVersion.FindString(string(engine)), ordered(direct+"\tstoic v0.0.0\n"), ordered(indirect), quoted(o.Engine)), nil
}

// ordered returns the lines in the order of go mod tidy.
func ordered(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// quoted returns a path in the form that go.mod requires.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`,()[]{}") {
		return fmt.Sprintf("%q", path)
	}
	return path
}
