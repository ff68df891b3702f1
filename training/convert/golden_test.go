package convert

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"stoic/test/golden"
	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// TestGolden converts every NAME.yaml in testdata/*.txtar and compares the result with NAME.want beside it.
func TestGolden(t *testing.T) {
	cases := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		u := untyped.Parse(t, archive[name+".yaml"])
		return describe(Object(kindFor(u.Object), u))
	})
	if cases < 25 {
		t.Errorf("only %d cases", cases)
	}
}

// kindFor returns the kind that an object names, or TFJob.
func kindFor(raw map[string]any) *training.Kind {
	for _, kind := range kinds.Served() {
		if raw["kind"] == kind.Name && raw["apiVersion"] == kind.APIVersion() {
			return kind
		}
	}
	for _, kind := range kinds.All() {
		if raw["kind"] == kind.Name {
			return kind
		}
	}
	return kinds.TFJob()
}

// describe returns a result as text for review.
func describe(r *Result) string {
	var b strings.Builder
	if r.Rejection != nil {
		fmt.Fprintf(&b, "rejected %s\n", r.Key())
		for _, p := range r.Rejection.Problems {
			fmt.Fprintf(&b, "error: %s [%s]\n", p, p.Code)
		}
	} else {
		describeJob(&b, r.Job)
	}
	for _, p := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s [%s]\n", p, p.Code)
	}
	return b.String()
}

func describeJob(b *strings.Builder, job *training.Job) {
	fmt.Fprintf(b, "job %s\n", job.Key())
	if policy := fmt.Sprintf("%+v", job.Policy); policy != fmt.Sprintf("%+v", training.RunPolicy{CleanPods: training.CleanNone}) {
		fmt.Fprintf(b, "policy %s\n", policy)
	}
	if job.ManagedBy != "" {
		fmt.Fprintf(b, "managed by %s\n", job.ManagedBy)
	}
	fmt.Fprintf(b, "success %+v\n", job.Success)
	if job.BatchReplicaType() != nil {
		fmt.Fprintf(b, "batch %+v\nown %+v\n", job.Batch, job.Own)
	}
	for _, rtype := range job.ReplicaTypes {
		fmt.Fprintf(b, "replica type %s x%d restart=%s port=%d ports=%v expendable=%t\n",
			rtype.Name, rtype.Replicas, rtype.Restart, rtype.Port, rtype.Ports, rtype.Expendable)
		fmt.Fprintf(b, "  %s\n", rtype.Template)
	}
}
