package rules

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

// block is one fenced block of YAML in a text.
type block struct {
	file string
	line int // of the first line inside
	text string
}

// blocks returns the fenced blocks of YAML. A fence may be indented, as in a list.
func blocks(file, text string) (found []block) {
	var open *block
	fence, indent := "", 0
	for number, line := 1, ""; text != ""; number++ {
		line, text, _ = strings.Cut(text, "\n")
		bare := strings.TrimLeft(line, " ")
		switch {
		case open != nil && strings.TrimRight(bare, " \r") == fence:
			found = append(found, *open)
			open, fence = nil, ""
		case open != nil:
			open.text += line[min(indent, len(line)-len(bare)):] + "\n"
		case fence != "": // inside a piece of something else
			if strings.TrimRight(bare, " \r") == fence {
				fence = ""
			}
		case strings.HasPrefix(bare, "```"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
			indent = len(line) - len(bare)
			if kind := strings.Fields(strings.TrimPrefix(bare, fence)); len(kind) > 0 && (kind[0] == "yaml" || kind[0] == "yml") {
				open = &block{file: file, line: number + 1}
			}
		}
	}
	return found
}

// jobs returns the documents of a block that are objects of a served kind.
func (b block) jobs() (found []*unstructured.Unstructured, err error) {
	for reader := apiyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(b.text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		var top struct{ Kind string }
		if json.Unmarshal(data, &top) != nil || kindOf(top.Kind) == nil {
			continue // another kind, or a fragment
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		found = append(found, u)
	}
}

func kindOf(name string) *training.Kind {
	for _, k := range kinds.All() {
		if name == k.Name {
			return k
		}
	}
	return nil
}

// judge converts the jobs of a block. One that must be rejected has the comment "# rejected" in it.
func (b block) judge(t *testing.T) (jobs int) {
	t.Helper()
	objects, err := b.jobs()
	if err != nil {
		t.Errorf("%s:%d: %v", b.file, b.line, err)
	}
	wrong := strings.Contains(b.text, "# rejected")
	for _, u := range objects {
		result := convert.Object(kindOf(u.GetKind()), u)
		switch {
		case wrong && result.Rejection == nil:
			t.Errorf("%s:%d: %s is to be rejected, and is a job", b.file, b.line, u.GetName())
		case !wrong && result.Rejection != nil:
			t.Errorf("%s:%d: %s is rejected: %v (a comment \"# rejected\" says that this is meant)", b.file, b.line, u.GetName(), result.Rejection.Problems)
		case !wrong && len(result.Warnings) > 0:
			t.Errorf("%s:%d: %s: %v", b.file, b.line, u.GetName(), result.Warnings)
		}
	}
	return len(objects)
}

// TestDocumentedJobs: every job in our texts is a valid job.
func TestDocumentedJobs(t *testing.T) {
	jobs, texts := 0, 0
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts++
		for _, b := range blocks(path, string(text)) {
			jobs += b.judge(t)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs in %d texts", jobs, texts)
	if texts < 5 {
		t.Errorf("found %d texts", texts)
	}
}

func TestBlocks(t *testing.T) {
	const text = "a\n```yaml\nkind: TFJob\n```\n```sh\n```\n````md\n```yaml\nno: block\n```\n````\n  ```yml\n  a:\n    b\n  ```\n```yaml\nnot closed\n"
	found := blocks("x.md", text)
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	for i, want := range []block{{"x.md", 3, "kind: TFJob\n"}, {"x.md", 13, "a:\n  b\n"}} {
		if found[i] != want {
			t.Errorf("%+v, want %+v", found[i], want)
		}
	}
	mixed := block{text: "a: 1\n---\nkind: Pod\nmetadata: {name: p}\n---\napiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: j} # rejected\n"}
	if n := mixed.judge(t); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
}
