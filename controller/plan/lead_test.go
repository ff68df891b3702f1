package plan

import (
	"fmt"
	"testing"

	"stoic/schema"
)

// TestLead covers the rule that no kind uses yet along with the others.
func TestLead(t *testing.T) {
	for name, test := range map[string]struct {
		rule schema.LeadRule
		pods []string
		want bool
	}{
		"all, all":               {schema.LeadAll, []string{"Succeeded", "Succeeded"}, true},
		"all, one":               {schema.LeadAll, []string{"Succeeded", "Running"}, false},
		"all, one deleting":      {schema.LeadAll, []string{"Succeeded", "Succeeded deleting"}, false},
		"all, none asked for":    {schema.LeadAll, nil, false},
		"first, it":              {schema.LeadFirst, []string{"Succeeded", "Failed"}, true},
		"first, another":         {schema.LeadFirst, []string{"Running", "Succeeded"}, false},
		"first, missing":         {schema.LeadFirst, []string{"gone", "Succeeded"}, false},
		"first, none asked for":  {schema.LeadFirst, nil, false},
		"any, one, none active":  {schema.LeadAny, []string{"Pending", "Succeeded"}, true},
		"any, one, one active":   {schema.LeadAny, []string{"Running", "Succeeded"}, false},
		"any, none":              {schema.LeadAny, []string{"Pending", "Failed"}, false},
		"any, one on its way":    {schema.LeadAny, []string{"Running deleting", "Succeeded"}, true},
		"no rule, all succeeded": {"", []string{"Succeeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			n := len(test.pods)
			w.Roles = map[string]roleKnobs{"Worker": {Replicas: &n}}
			for i, words := range test.pods {
				w.setPod(t, fmt.Sprintf("j-worker-%d", i), words)
			}
			o := w.observe()
			o.Job.Lead.Rule = test.rule
			d := newDraft(o)
			if got := succeeded(d); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
