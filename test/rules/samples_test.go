package rules

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/cli"
	"stoic/training/convert"
	"stoic/training/kinds"
)

// TestJobsInDocuments: a job in a document converts without a problem or warning, or its block has the comment "# rejected".
func TestJobsInDocuments(t *testing.T) {
	jobs := 0
	yamlBlock := regexp.MustCompile("(?ms)^ *```ya?ml\n(.*?)^ *```$")
	eachFile(t, func(file, text string) {
		for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
			for document := range strings.SplitSeq(m[1], "\n---\n") {
				u := &unstructured.Unstructured{}
				if yaml.Unmarshal([]byte(document), &u.Object) != nil {
					continue // a fragment
				}
				for _, kind := range kinds.All() {
					if kind.Name != u.GetKind() {
						continue
					}
					jobs++
					result := convert.Object(kind, u)
					if isRejected := result.Rejection != nil; isRejected != strings.Contains(m[1], "# rejected") {
						t.Errorf("%s: %s is rejected: %v, %+v", file, u.GetName(), isRejected, result.Rejection)
					} else if !isRejected && len(result.Warnings) > 0 {
						t.Errorf("%s: %s: %v", file, u.GetName(), result.Warnings)
					}
				}
			}
		}
	}, ".md")
	if jobs == 0 {
		t.Error("found no job")
	}
}

// TestSamples: `stoic validate` prints what README shows.
func TestSamples(t *testing.T) {
	consoles := regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1)
	t.Chdir(root)
	ran := 0
	for _, console := range consoles {
		for sample := range strings.SplitSeq("\n"+console[1], "\n$ ") {
			call, want, _ := strings.Cut(sample, "\n")
			if !strings.HasPrefix(call, "stoic validate ") {
				continue
			}
			ran++
			var stdout, stderr bytes.Buffer
			cli.Main(strings.Fields(call), strings.NewReader(""), &stdout, &stderr)
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(stdout.String())); diff != "" || stderr.Len() > 0 {
				t.Errorf("%s (-README +printed) %s\n%s", call, stderr.String(), diff)
			}
		}
	}
	if ran == 0 {
		t.Error("README shows no call of stoic validate")
	}
}

// TestClientPrograms: the programs on docs/clients.md are those that test/clients runs, except the line that describes each.
func TestClientPrograms(t *testing.T) {
	page := read(t, "docs/clients.md")
	for language, file := range map[string]string{"go": "go/examples/hello/main.go", "ts": "typescript/examples/hello.ts", "python": "python/examples/hello.py", "java": "java/examples/Hello.java"} {
		_, program, _ := strings.Cut(read(t, "clients/"+file), "\n")
		if !strings.Contains(page, "\n```"+language+"\n"+program+"```\n") {
			t.Errorf("docs/clients.md does not show clients/%s", file)
		}
	}
}
