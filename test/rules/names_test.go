package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eachFile calls visit with the text of each file of the checkout that has one of the suffixes.
func eachFile(t *testing.T, visit func(file, text string), suffixes ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules" || entry.Name() == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(path, suffix) {
				file := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
				visit(file, read(t, file))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tests has the text of all tests of the packages of a name, and the stories in their testdata as folder/archive/story.
type tests struct {
	code    map[string]string
	stories map[string]bool
}

func findTests(t *testing.T) tests {
	found := tests{code: map[string]string{}, stories: map[string]bool{}}
	eachFile(t, func(file, text string) {
		found.code[filepath.Base(filepath.Dir(file))] += text
	}, "_test.go")
	inputs := regexp.MustCompile(`(?m)^-- (.*)\.yaml --$`)
	for name, folder := range map[string]string{"plan": "training/plan/testdata", "convert": "training/convert/testdata", "v2beta1": "training/operator/testdata/v2beta1"} {
		archives, err := filepath.Glob(filepath.Join(root, folder, "*.txtar"))
		if err != nil || len(archives) == 0 {
			t.Fatalf("%d archives in %s: %v", len(archives), folder, err)
		}
		for _, archive := range archives {
			text, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			for _, input := range inputs.FindAllStringSubmatch(string(text), -1) {
				found.stories[name+"/"+strings.TrimSuffix(filepath.Base(archive), ".txtar")+"/"+input[1]] = true
			}
		}
	}
	return found
}

var (
	testName  = regexp.MustCompile("`([a-z0-9]+)\\.(Test\\w+)(?:/([^`]+))?`")
	storyName = regexp.MustCompile("`((?:plan|convert|v2beta1)/[\\w-]+/[^`]+)`")
	placeName = regexp.MustCompile("`([a-z/]+\\.go): (\\w+)`")
)

// missing returns the tests, parts of tests, stories and functions that a document names and that do not exist.
func (found tests) missing(text string) (names []string) {
	for _, m := range testName.FindAllStringSubmatch(text, -1) {
		code := found.code[m[1]]
		hasPart := m[3] == "" || strings.Contains(code, `"`+m[3]+`"`) || strings.Contains(code, "`"+m[3]+"`")
		if !strings.Contains(code, "\nfunc "+m[2]+"(t ") || !hasPart {
			names = append(names, m[0])
		}
	}
	for _, m := range storyName.FindAllStringSubmatch(text, -1) {
		if !found.stories[m[1]] {
			names = append(names, m[0])
		}
	}
	for _, m := range placeName.FindAllStringSubmatch(text, -1) {
		code, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+m[2]+`[\[(]`).Match(code) {
			names = append(names, m[0])
		}
	}
	return names
}

// TestNamesInDocuments: the tests, stories and functions that a document names exist.
func TestNamesInDocuments(t *testing.T) {
	found := findTests(t)
	eachFile(t, func(file, text string) {
		for _, name := range found.missing(text) {
			t.Errorf("%s names %s, which does not exist", file, name)
		}
	}, ".md")
	wrong := "`plan/scale/never-told`, `plan/nowhere/x`, `plan.TestNothing`, `integration.TestContract/never there`, `controller/none.go: Apply`"
	if names := found.missing(wrong); len(names) != 5 {
		t.Errorf("of five wrong names it finds %q", names)
	}
}

// TestPromisesAreShown: each promise of the contract and of the authors' page, and each program that was tested, names a test, or
// says why there is none.
func TestPromisesAreShown(t *testing.T) {
	authors := read(t, "docs/authors.md")
	_, authors, _ = strings.Cut(authors, "## What the engine promises\n")
	authors, _, _ = strings.Cut(authors, "\n## A tutorial")
	integrations, _, _ := strings.Cut(read(t, "docs/integrations.md"), "\n## ")
	for page, text := range map[string]string{"authors": authors, "contract": read(t, "docs/reference/contract.md"), "integrations": integrations} {
		promises := 0
		body := false
		for line := range strings.Lines(text) {
			isRow := strings.HasPrefix(line, "|")
			if body && isRow {
				promises++
				if !testName.MatchString(line) && !storyName.MatchString(line) && !strings.Contains(line, "| not here: ") {
					t.Errorf("%s: no test shows %s", page, line)
				}
			}
			body = isRow && (body || strings.HasPrefix(line, "|--"))
		}
		if promises < 15 {
			t.Errorf("%s: %d promises", page, promises)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks: a relative link in a document leads to a file, and its fragment to a heading.
func TestLinks(t *testing.T) {
	eachFile(t, func(file, text string) {
		for _, m := range link.FindAllStringSubmatch(withoutBlocks(text), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			path := filepath.Join(root, file)
			if target != "" {
				path = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, m[1])
			} else if fragment != "" && strings.HasSuffix(path, ".md") && !headings(read(t, strings.TrimPrefix(path, root+"/")))[fragment] {
				t.Errorf("%s: the link %s leads to no heading", file, m[1])
			}
		}
	}, ".md")
}

var block = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

func withoutBlocks(text string) string { return block.ReplaceAllString(text, "") }

// headings returns the fragments of a document's headings, as GitHub makes them.
func headings(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(withoutBlocks(text)) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(title, "")
			found[strings.ReplaceAll(title, " ", "-")] = true
		}
	}
	return found
}
