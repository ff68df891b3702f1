package kinds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
)

// environmentCase is a replica and its variables: NAME=value, or NAME=field:path of the pod.
type environmentCase struct {
	job   *training.Job
	rtype string
	index int
	want  string
}

func checkEnvironment(t *testing.T, cases map[string]environmentCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range c.job.Kind.Environment(c.job)(c.job.ReplicaType(c.rtype), c.index) {
				if v.Field != "" {
					v.Value += "field:" + v.Field
				}
				got = append(got, v.Name+"="+v.Value)
			}
			if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
