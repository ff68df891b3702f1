package plan

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

func TestSet(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(s) * time.Second)) }
	was := []training.Condition{
		{Type: training.Running, Status: "True", Reason: "A", Message: "a", LastUpdateTime: at(1), LastTransitionTime: at(1)},
		{Type: "Odd", Status: "True"},
	}
	for name, test := range map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   []training.Condition
	}{
		"the same":     {"True", "A", was},
		"other reason": {"True", "B", []training.Condition{was[1], {Type: training.Running, Status: "True", Reason: "B", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(1)}}},
		"other status": {"False", "A", []training.Condition{was[1], {Type: training.Running, Status: "False", Reason: "A", Message: "b", LastUpdateTime: at(9), LastTransitionTime: at(9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &draft{now: at(9), status: training.Status{Conditions: append([]training.Condition(nil), was...)}}
			if changed := d.set(training.Running, test.status, test.reason, "b"); changed != (name != "the same") {
				t.Error("changed:", changed)
			}
			if diff := gocmp.Diff(test.want, d.status.Conditions); diff != "" {
				t.Error(diff)
			}
		})
	}
}
