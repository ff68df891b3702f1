package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/cli/cluster"
	"stoic/training/kinds"
)

// TestValidateLive: `stoic validate --live` reports about stored objects what an operator that starts later reports in events, word
// for word. The CRD is the open one: it accepts everything.
func TestValidateLive(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{})
	for _, kind := range kinds.All() {
		r.define(t, root+"/test/fixtures/"+kind.Plural+"-open.yaml")
		r.awaitEstablished(t, kind)
	}
	r.permit(t)
	r.storeNonsense(t, "wrong")
	out, talk, code := runStoic(t, "validate", "--live", "--kubeconfig", r.cluster.Kubeconfig(), "-n", "wrong", "-o", "json")
	var report struct {
		Summary struct{ Documents, Rejected int }
		Results []struct {
			Severity, Path, Message string
			File                    *string
			Object                  struct{ Kind, Namespace, Name string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 1 || talk != "" {
		t.Fatalf("code %d, stderr %q, %v in %s", code, talk, err, out)
	}
	if n := len(nonsense()); report.Summary.Documents != n || report.Summary.Rejected != n {
		t.Errorf("%+v of %d malformed jobs", report.Summary, n)
	}
	said := map[string][]event{}
	for _, f := range report.Results {
		if f.Object.Kind != kinds.TFJob().Name || f.Object.Namespace != "wrong" || f.File != nil {
			t.Errorf("%+v", f)
		}
		if f.Severity == "error" {
			said[f.Object.Name] = append(said[f.Object.Name], event{"Warning", "TFJobFailedValidation", f.Path, f.Message})
		}
	}
	r.operator(t, "wrong")
	for _, m := range nonsense() {
		var reported []event
		await(t, "the events of "+m.name, func() (bool, string) {
			reported = r.events(t, "wrong", m.name)
			return len(reported) >= len(said[m.name]), fmt.Sprint(reported)
		})
		byPath := func(a, b event) int { return strings.Compare(a.Path+a.Message, b.Path+b.Message) }
		slices.SortFunc(reported, byPath)
		slices.SortFunc(said[m.name], byPath)
		if diff := cmp.Diff(reported, said[m.name]); diff != "" || len(reported) == 0 {
			t.Errorf("%s (-the operator +validate):\n%s", m.name, diff)
		}
	}
}
