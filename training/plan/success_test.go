package plan

import (
	"fmt"
	"testing"

	"stoic/training"
)

// TestSuccessRule covers all rules, also one that no kind uses yet.
func TestSuccessRule(t *testing.T) {
	for name, test := range map[string]struct {
		rule training.SuccessRule
		pods []string
		want bool
	}{
		"all, all":               {training.SuccessAll, []string{"Succeeded", "Succeeded"}, true},
		"all, one":               {training.SuccessAll, []string{"Succeeded", "Running"}, false},
		"all, one deleting":      {training.SuccessAll, []string{"Succeeded", "Succeeded deleting"}, false},
		"all, none asked for":    {training.SuccessAll, nil, false},
		"first, it":              {training.SuccessFirst, []string{"Succeeded", "Failed"}, true},
		"first, another":         {training.SuccessFirst, []string{"Running", "Succeeded"}, false},
		"first, missing":         {training.SuccessFirst, []string{"gone", "Succeeded"}, false},
		"first, none asked for":  {training.SuccessFirst, nil, false},
		"any, one, none active":  {training.SuccessAny, []string{"Pending", "Succeeded"}, true},
		"any, one, one active":   {training.SuccessAny, []string{"Running", "Succeeded"}, true},
		"any, none":              {training.SuccessAny, []string{"Pending", "Failed"}, false},
		"any, one deleting":      {training.SuccessAny, []string{"Running", "Succeeded deleting"}, false},
		"any, one on its way":    {training.SuccessAny, []string{"Running deleting", "Succeeded"}, true},
		"no rule, all succeeded": {"", []string{"Succeeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster()
			n := len(test.pods)
			w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &n}}
			for i, words := range test.pods {
				w.setPod(t, fmt.Sprintf("j-worker-%d", i), words)
			}
			o := w.observe()
			o.Job.Success.Rule = test.rule
			d := newDraft(o)
			if got := succeeded(d); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
