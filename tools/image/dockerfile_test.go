package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// recipe is what a Dockerfile says of its last stage, and of how the files copied into it were made.
type recipe struct {
	Base       string
	Environ    []string // of the go command
	Compile    []string // the go command
	Link       []string // the command that makes the second name
	Copied     string
	User       string
	Entrypoint []string
	Labels     map[string]string
}

// wanted returns the recipe of this program.
func wanted(f facts) recipe {
	return recipe{
		Base:       "scratch",
		Environ:    []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"},
		Compile:    append(append([]string{"go"}, compiling(f.Version)...), "-o", "/image/"+program, "."),
		Link:       []string{"ln", "-s", program, "/image/" + predecessor},
		Copied:     "build:/image/ -> /",
		User:       user,
		Entrypoint: []string{"/" + program},
		Labels:     f.labels(),
	}
}

// read evaluates the Dockerfile as for a build for linux/arm64 with the facts as arguments. An instruction that could change the image
// and is not evaluated here is an error.
func read(text string, f facts) (recipe, error) {
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return recipe{}, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return recipe{}, err
	}
	if len(stages) != 2 || stages[0].Name != "build" {
		return recipe{}, fmt.Errorf("there are %d stages, want build and another", len(stages))
	}
	given := []string{"VERSION=" + f.Version, "REVISION=" + f.Revision, "SOURCE=" + f.Source,
		"CREATED=" + f.Created.Format(time.RFC3339), "TARGETOS=linux", "TARGETARCH=arm64"}
	r := recipe{Base: stages[1].BaseName}
	for _, stage := range stages {
		var known []string // an argument has its value after its ARG, in its stage
		for _, command := range stage.Commands {
			if arg, is := command.(*instructions.ArgCommand); is {
				for _, a := range arg.Args {
					for _, g := range given {
						if strings.HasPrefix(g, a.Key+"=") {
							known = append(known, g)
						}
					}
				}
				continue
			}
			if err := r.follow(command, stage.Name == "build", known); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func (r *recipe) follow(command instructions.Command, building bool, known []string) error {
	words := func(text string) ([]string, error) {
		return shell.NewLex('\\').ProcessWords(text, shell.EnvsFromSlice(known))
	}
	switch c := command.(type) {
	case *instructions.RunCommand:
		text := strings.Join(c.CmdLine, " ")
		if building && text == "go mod download" {
			return nil
		}
		compile, link, two := strings.Cut(text, "&&")
		if !building || !two || r.Compile != nil {
			return fmt.Errorf("a RUN that is not known: %s", text)
		}
		all, err := words(compile)
		if err != nil {
			return err
		}
		for len(all) > 0 && strings.Contains(all[0], "=") {
			r.Environ, all = append(r.Environ, all[0]), all[1:]
		}
		r.Compile = all
		r.Link, err = words(link)
		return err
	case *instructions.CopyCommand:
		if !building {
			r.Copied += c.From + ":" + strings.Join(c.SourcePaths, " ") + " -> " + c.DestPath
		}
		return nil
	case *instructions.WorkdirCommand:
		if building {
			return nil
		}
	case *instructions.LabelCommand:
		if !building {
			r.Labels = map[string]string{}
			for _, label := range c.Labels {
				value, err := shell.NewLex('\\').ProcessWordWithMatches(label.Value, shell.EnvsFromSlice(known))
				if err != nil {
					return err
				}
				r.Labels[label.Key] = value.Result
			}
			return nil
		}
	case *instructions.UserCommand:
		if !building {
			r.User = c.User
			return nil
		}
	case *instructions.EntrypointCommand:
		if !building && !c.PrependShell {
			r.Entrypoint = c.CmdLine
			return nil
		}
	}
	return fmt.Errorf("an instruction that is not known here: %s", command.Name())
}

func dockerfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDockerfile: it builds what this program builds. TestImage shows that .dockerignore includes all sources; tools/lint shows that it
// compiles with the Go of a release.
func TestDockerfile(t *testing.T) {
	got, err := read(dockerfile(t), testFacts())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted(testFacts()), got); diff != "" {
		t.Errorf("the Dockerfile differs (-this program +Dockerfile):\n%s", diff)
	}
}

// TestDockerfileThatDiffers: the comparison notices each of these changes.
func TestDockerfileThatDiffers(t *testing.T) {
	right := dockerfile(t)
	for _, change := range []struct{ from, to string }{
		{"CGO_ENABLED=0 ", ""},
		{"-trimpath ", ""},
		{" -buildvcs=false", ""},
		{"-s -w ", ""},
		{"stoic/cli/command.Version", "stoic/cli/command.Other"},
		{"ln -s stoic", "ln -s other"},
		{"FROM scratch", "FROM alpine"},
		{"FROM scratch", "FROM scratch\nRUN true"},
		{"FROM scratch", "FROM scratch\nENV A=b"},
		{"FROM scratch", "FROM scratch\nADD x /x"},
		{"FROM scratch\nARG VERSION=dev", "FROM scratch"}, // then the label is empty
		{"COPY --from=build /image/ /", "COPY --from=build /image/ /\nCOPY --from=build /bin/sh /bin/"},
		{"65532:65532", "root"},
		{`["/stoic"]`, `["/manager"]`},
		{`["/stoic"]`, `/stoic`},
		{`licenses="Apache-2.0"`, `licenses="MIT"`},
		{"      org.opencontainers.image.revision=\"$REVISION\" \\\n", ""},
	} {
		text := strings.ReplaceAll(right, change.from, change.to)
		if text == right {
			t.Errorf("the Dockerfile does not have %q", change.from)
			continue
		}
		got, err := read(text, testFacts())
		if err == nil && cmp.Equal(wanted(testFacts()), got) {
			t.Errorf("%q instead of %q goes unnoticed", change.to, change.from)
		}
	}
}

// TestMakefile: make build uses the linker flags of the image, so that both report their version.
func TestMakefile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "-ldflags '" + linking("$(VERSION)") + "'"; !strings.Contains(string(text), want) {
		t.Errorf("the Makefile does not link with %s", want)
	}
}

// TestCompileFails: the error contains the output of the compiler.
func TestCompileFails(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module stoic\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() { nonsense() }\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := build(context.Background(), folder, testFacts(), bothPlatforms()[:1])
	if err == nil || !strings.Contains(err.Error(), "for linux/amd64") || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("the error is %v", err)
	}
}

// TestDocumentedFiles: deploy/README.md names exactly the files that are written.
func TestDocumentedFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "deploy/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| bin/image | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	want := []string{layoutFolder, archiveFile, digestFile, sbomFile(bothPlatforms()[0]), sbomFile(bothPlatforms()[1])}
	var got []string
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			got = append(got, name[1])
		}
	}
	if diff := cmp.Diff(want, got); !found || diff != "" {
		t.Errorf("the table of bin/image (-written +documented):\n%s", diff)
	}
}
