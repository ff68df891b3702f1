package plan

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func TestSet(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(s) * time.Second)) }
	was := []schema.Condition{
		{Type: schema.Running, Status: "True", Reason: "A", Message: "a", LastUpdateTime: at(1), LastTransitionTime: at(1)},
		{Type: "Odd", Status: "True"},
	}
	for name, test := range map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   []schema.Condition
	}{
		"the same":     {"True", "A", was},
		"other reason": {"True", "B", []schema.Condition{was[1], {Type: schema.Running, Status: "True", Reason: "B", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(1)}}},
		"other status": {"False", "A", []schema.Condition{was[1], {Type: schema.Running, Status: "False", Reason: "A", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &draft{now: at(9), status: schema.Status{Conditions: append([]schema.Condition(nil), was...)}}
			if changed := d.set(schema.Running, test.status, test.reason, "b"); changed != (name != "the same") {
				t.Error("changed:", changed)
			}
			if diff := gocmp.Diff(test.want, d.status.Conditions); diff != "" {
				t.Error(diff)
			}
		})
	}
}
