package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/controller/migration"
)

// TestMigrateCalls: calls that fail before they reach a cluster. See test/integration for the others.
func TestMigrateCalls(t *testing.T) {
	missing := outside(t)
	t.Setenv("HOME", t.TempDir())
	for call, says := range map[string]string{
		"":                               "accepts 1 arg(s), received 0",
		"tfjob pytorchjob":               "accepts 1 arg(s), received 2",
		"widget":                         `found kind "widget", must be one of jaxjob, mpijob, `,
		".example.com":                   `found kind ".example.com", must be one of`,
		"Widgets.example.com":            `found kind "Widgets.example.com", must be one of`,
		"tfjob":                          "no cluster to ask: ",
		"tfjob --kubeconfig " + missing:  "read the kubeconfig: ",
		"tfjob --request-timeout=-1s":    "--request-timeout: found -1s, must be 0 or more",
		"tfjob -n team-a":                "unknown shorthand flag: 'n' in -n",
		"widgets.example.com --dry-runs": "unknown flag: --dry-runs",
	} {
		out, errOut, code := called(append([]string{"stoic", "migrate"}, strings.Fields(call)...)...)
		if code != 2 || !strings.Contains(errOut, says) || out != "" {
			t.Errorf("%q: code %d, stdout %q, stderr %q, want %s", call, code, out, errOut, says)
		}
	}
	for spelling, want := range map[string]string{"tfjob": "tfjobs.kubeflow.org", "TFJob": "tfjobs.kubeflow.org", "PYTORCHJOBS": "pytorchjobs.kubeflow.org",
		"mpijobs.kubeflow.org": "mpijobs.kubeflow.org", "foobars.example.com": "foobars.example.com"} {
		if got, err := definitionOf(spelling); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", spelling, got, err, want)
		}
	}
}

func TestMigrateOutcome(t *testing.T) {
	both := []string{"v1alpha1", "v1"}
	for want, r := range map[string]struct {
		result migration.Result
		dry    bool
	}{
		"nothing to do: status.storedVersions of a.b is [v1]":                                          {migration.Result{Version: "v1", Nothing: true}, false},
		"0 objects of a.b written as v1; status.storedVersions is [v1]":                                {migration.Result{Version: "v1", Before: both, After: []string{"v1"}}, false},
		"1 object of a.b written as v1, 2 deleted meanwhile; status.storedVersions is [v1]":            {migration.Result{Version: "v1", Written: 1, Gone: 2, After: []string{"v1"}}, false},
		"3 objects of a.b written as v1, 1 could not be; status.storedVersions is [v1alpha1 v1]":       {migration.Result{Version: "v1", Written: 3, Failed: make([]migration.Failure, 1), After: both}, false},
		"3 objects of a.b could be written as v1, 1 could not; status.storedVersions is [v1alpha1 v1]": {migration.Result{Version: "v1", Written: 3, Failed: make([]migration.Failure, 1), After: both}, true},
	} {
		f := migrateFlags{dryRun: r.dry}
		if diff := cmp.Diff(want+"\n", f.outcome("a.b", r.result)); diff != "" {
			t.Error(diff)
		}
	}
}
