package scenario

import (
	"strings"
	"testing"
)

// TestOperators: the names of operators and scenarios are unique, and every operator has what the rig needs.
func TestOperators(t *testing.T) {
	names := map[string]bool{}
	for _, o := range Operators() {
		if names[o.Name] || len(o.Dependents) == 0 || o.Rules.Status == nil || o.Rules.Owner == nil {
			t.Errorf("the operator %q lacks something", o.Name)
		}
		names[o.Name] = true
		for _, s := range o.Scenarios {
			if names[s.Name] || s.Operator != o || s.Resource.Empty() || strings.ContainsAny(s.Name, "/,") {
				t.Errorf("the scenario %q of %s", s.Name, o.Name)
			}
			names[s.Name] = true
		}
	}
}
