package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// differencesLimit is how many differences of one file are reported; git diff shows all of them.
const differencesLimit = 10

// Differences returns the places in which two YAML documents differ, in order of path.
func Differences(found, wanted []byte) []string {
	var f, w any
	if err := yaml.Unmarshal(found, &f); err != nil {
		return []string{"is not YAML: " + err.Error()}
	}
	if err := yaml.Unmarshal(wanted, &w); err != nil {
		return []string{"would not be YAML: " + err.Error()}
	}
	lines := differ("", f, w)
	if len(lines) == 0 {
		return []string{"in comments or layout"}
	}
	if more := len(lines) - differencesLimit; more > 0 {
		lines = append(lines[:differencesLimit], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// missing is the value of a key that one side does not have; null is a value.
type missing struct{}

func differ(path string, found, wanted any) []string {
	if reflect.DeepEqual(found, wanted) {
		return nil
	}
	var lines []string
	switch w := wanted.(type) {
	case map[string]any:
		if f, ok := found.(map[string]any); ok {
			for _, key := range keys(f, w) {
				lines = append(lines, differ(path+"."+key, at(f, key), at(w, key))...)
			}
			return lines
		}
	case []any:
		if f, ok := found.([]any); ok && len(f) == len(w) {
			for i := range w {
				lines = append(lines, differ(fmt.Sprintf("%s[%d]", path, i), f[i], w[i])...)
			}
			return lines
		}
	}
	return []string{fmt.Sprintf("%s: found %s, wanted %s", path, brief(found), brief(wanted))}
}

func keys(sides ...map[string]any) []string {
	all := map[string]bool{}
	for _, m := range sides {
		for key := range m {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func at(m map[string]any, key string) any {
	if value, ok := m[key]; ok {
		return value
	}
	return missing{}
}

func brief(value any) string {
	switch v := value.(type) {
	case missing:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // CEL rules have && in them
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(text.String())
}
