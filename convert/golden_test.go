package convert

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/schema"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// TestGolden converts every NAME.yaml in testdata/*.txtar and compares the result with NAME.want beside it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	cases := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := &txtar.Archive{Comment: archive.Comment}
		want := map[string]string{}
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			cases++
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				u := parse(t, f.Data)
				got := describe(Object(kindFor(u.Object), u))
				out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
				if diff := cmp.Diff(want[name+".want"], got); diff != "" && !*update {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cases < 25 {
		t.Errorf("only %d cases", cases)
	}
}

// kindFor is the kind that an object names, or TFJob.
func kindFor(raw map[string]any) *schema.Kind {
	for _, kind := range schema.Kinds() {
		if raw["kind"] == kind.Name {
			return kind
		}
	}
	return schema.TFJob()
}

// parse reads YAML as kubectl does and numbers as the API machinery does.
func parse(t testing.TB, text []byte) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// describe writes a result for people to review.
func describe(r *Result) string {
	var b strings.Builder
	if r.Rejection != nil {
		fmt.Fprintf(&b, "rejected %s\n", r.Key())
		for _, p := range r.Rejection.Problems {
			fmt.Fprintf(&b, "error: %s [%s]\n", p, p.Code)
		}
	} else {
		describeJob(&b, r.Job)
	}
	for _, p := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s [%s]\n", p, p.Code)
	}
	return b.String()
}

func describeJob(b *strings.Builder, job *schema.Job) {
	fmt.Fprintf(b, "job %s\n", job.Key())
	if policy := fmt.Sprintf("%+v", job.Policy); policy != fmt.Sprintf("%+v", schema.RunPolicy{CleanPods: schema.CleanNone}) {
		fmt.Fprintf(b, "policy %s\n", policy)
	}
	if job.ManagedBy != "" {
		fmt.Fprintf(b, "managed by %s\n", job.ManagedBy)
	}
	fmt.Fprintf(b, "lead %+v\n", job.Lead)
	for _, role := range job.Roles {
		fmt.Fprintf(b, "role %s x%d restart=%s port=%d ports=%v expendable=%t\n",
			role.Name, role.Replicas, role.Restart, role.Port, role.Ports, role.Expendable)
		fmt.Fprintf(b, "  %s\n", role.Template)
	}
}
