//go:build !race

package convert

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestStructuralBudget: a problem that occurs a thousand times does not cost a thousand messages. Comparing two words in capitals
// allocates at least once, and allocations are counted.
func TestStructuralBudget(t *testing.T) {
	const items, words, budget = 2000, 200, 300_000 // a hint for each item takes 750,000 and more
	known := make([]string, words)
	fields := make([]string, words)
	for i := range known {
		known[i] = fmt.Sprintf("ABCDEFG%03d", i)
		fields[i] = known[i] + ": {type: string}"
	}
	enum := `enum: [` + strings.Join(known, ", ") + `]`
	wrong, unknown := make([]any, items), make([]any, items)
	for i := range wrong {
		wrong[i] = fmt.Sprintf("VWXYZVW%03d", i%1000)
		unknown[i] = map[string]any{"VWXYZVW000": "x", "VWXYZVW001": "x"}
	}
	object := `type: object, required: [` + strings.Join(known, ", ") + `], properties: {` + strings.Join(fields, ", ") + `}`
	for name, c := range map[string]struct {
		items string
		list  []any
	}{
		"enum":                {`type: string, ` + enum, wrong},
		"enum in a clause":    {`type: string, anyOf: [{` + enum + `}, {maxLength: 1}]`, wrong},
		"enum in two clauses": {`type: string, oneOf: [{not: {not: {anyOf: [{` + enum + `}]}}}, {maxLength: 1}]`, wrong},
		"required fields":     {object, unknown},
	} {
		s, _ := schemaIn(t, `{type: object, properties: {spec: {type: object, properties: {list: {type: array, items: {`+c.items+`}}}}}}`)
		raw := widget(map[string]any{"spec": map[string]any{"list": c.list}})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := checkStructural(s, raw)
		runtime.ReadMemStats(&after)
		if made := after.Mallocs - before.Mallocs; made > budget {
			t.Errorf("%s: %d allocations, the budget is %d", name, made, budget)
		} else {
			t.Logf("%s: %d allocations", name, made)
		}
		if len(got.Problems) != MaxProblems+1 || !reflect.DeepEqual(got, checkStructural(s, raw)) {
			t.Errorf("%s: %d problems, and not the same again", name, len(got.Problems))
		}
	}
}
