package convert

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/test/untyped"
)

// FuzzObject converts any JSON, with up to two of its nodes replaced and one key renamed: a fuzzer that only changes
// bytes spends its time on invalid JSON. In addition to the checks of check, no message may contain the value of a
// variable, and a template that is decoded and converted again must be the same.
func FuzzObject(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text, uint16(0), uint8(0), uint16(0), uint8(0), uint16(0), "")
		f.Add(text, uint16(9), uint8(1), uint16(30), uint8(7), uint16(20), "Containers")
		f.Add(text, uint16(0), uint8(0), uint16(40), uint8(2), uint16(30), "a\xff\u202e\n")
	}
	all := mutations()
	f.Fuzz(func(t *testing.T, text []byte, at1 uint16, value1 uint8, at2 uint16, value2 uint8, key uint16, spelling string) {
		var raw map[string]any
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Skip()
		}
		for _, m := range []struct {
			at    int
			value uint8
		}{{int(at1), value1}, {int(at2), value2}} {
			if m.at > 0 {
				raw, _ = untyped.Mutate(raw, &m.at, untyped.Clone(all[int(m.value)%len(all)])).(map[string]any)
			}
		}
		if at := int(key); at > 0 {
			respell(raw, &at, spelling)
		}
		mark(raw, false)
		got := check(t, raw)
		if words := reported(got); strings.Contains(words, marker) || strings.Contains(words, markerNumber) {
			t.Fatalf("a secret is told: %s", words)
		}
		checkAgain(t, raw, got)
	})
}

// seeds adds all manifests of the project, valid and invalid ones.
func seeds(f *testing.F) [][]byte {
	texts := [][]byte{large, elastic, mpiV2Beta1}
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".yaml") {
				texts = append(texts, part.Data)
			}
		}
	}
	examples, _ := filepath.Glob("../../examples/*.yaml")
	rejected, _ := filepath.Glob("../../examples/rejected/*.yaml")
	if len(examples) == 0 || len(rejected) == 0 {
		f.Fatal("no examples")
	}
	for _, file := range append(examples, rejected...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, bytes.Split(text, []byte("\n---\n"))...)
	}
	for i := range texts {
		text, err := yaml.YAMLToJSON(texts[i])
		if err != nil {
			f.Fatal(err)
		}
		texts[i] = text
	}
	return texts
}

// respell renames the field with the number *at, counted in order, if there is one.
func respell(v any, at *int, spelling string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if *at--; *at == 0 {
				value := v[key]
				delete(v, key)
				v[spelling] = value
				return
			}
			if respell(v[key], at, spelling); *at <= 0 {
				return
			}
		}
	case []any:
		for i := range v {
			if respell(v[i], at, spelling); *at <= 0 {
				return
			}
		}
	}
}

// mark puts a secret into every variable: as its value, and into each text or number of its valueFrom.
func mark(v any, variables bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"value", "valueFrom"} {
			switch v[key].(type) {
			case string:
				if variables {
					v[key] = marker
				}
			case int64, float64:
				if variables {
					v[key] = int64(8714502)
				}
			}
		}
		for key, value := range v {
			if key == "env" || !variables {
				mark(value, key == "env")
			}
		}
	case []any:
		for i := range v {
			mark(v[i], variables)
		}
	}
}

// checkAgain converts the templates of a job again: they are valid and do not change.
func checkAgain(t *testing.T, raw map[string]any, got *Result) {
	t.Helper()
	if got.Job == nil {
		return
	}
	again, _ := untyped.Clone(raw).(map[string]any)
	spec, _ := again["spec"].(map[string]any)
	rtypes := map[string]any{}
	for i := range got.Job.ReplicaTypes {
		rtype := &got.Job.ReplicaTypes[i]
		var template map[string]any
		if err := json.Unmarshal(rtype.Template, &template); err != nil {
			t.Fatalf("template %s: %v", rtype.Template, err)
		}
		rtypes[rtype.Name] = map[string]any{"replicas": int64(rtype.Replicas), "restartPolicy": string(rtype.Restart), "template": template}
	}
	spec[got.Kind.ReplicaSpecsField] = rtypes
	other := check(t, again)
	if other.Job == nil {
		t.Fatalf("sound once, not twice: %s\n%s", describe(got), describe(other))
	}
	for i := range got.Job.ReplicaTypes {
		if a, b := got.Job.ReplicaTypes[i].Template, other.Job.ReplicaTypes[i].Template; !bytes.Equal(a, b) {
			t.Fatalf("changed again\nfrom %s\nto   %s", a, b)
		}
	}
}
