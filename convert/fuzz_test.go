package convert

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// FuzzObject converts any JSON, with up to two of its nodes replaced: a fuzzer that only changes bytes spends
// its time on objects that are not JSON.
func FuzzObject(f *testing.F) {
	add := func(text []byte) {
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, uint16(0), uint8(0), uint16(0), uint8(0))
		f.Add(raw, uint16(9), uint8(1), uint16(30), uint8(7))
	}
	add(large)
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".yaml") {
				add(part.Data)
			}
		}
	}
	all := mutations()
	f.Fuzz(func(t *testing.T, text []byte, at1 uint16, value1 uint8, at2 uint16, value2 uint8) {
		var raw map[string]any
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Skip()
		}
		for _, m := range []struct {
			at    int
			value uint8
		}{{int(at1), value1}, {int(at2), value2}} {
			if m.at > 0 {
				raw, _ = mutate(raw, &m.at, clone(all[int(m.value)%len(all)])).(map[string]any)
			}
		}
		check(t, raw)
	})
}
