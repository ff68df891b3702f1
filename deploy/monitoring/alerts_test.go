package monitoring

import (
	"regexp"
	"testing"

	"stoic/training/kinds"
)

// TestKindsOfJobs: what selects kinds of jobs selects each, in each version, and nothing that jobs own.
func TestKindsOfJobs(t *testing.T) {
	selected := regexp.MustCompile(`^(?:` + kindsOfJobs + `)$`) // Prometheus anchors it
	owned := 0
	for _, kind := range kinds.Served() {
		for _, label := range []string{kind.Name, kind.Name + "." + kind.Version} {
			if !selected.MatchString(label) {
				t.Errorf("%s is not selected", label)
			}
		}
		for _, r := range kind.DependentResources() {
			owned++
			if selected.MatchString(r.Kind) {
				t.Errorf("%s, which a %s owns, is selected", r.Kind, kind.Name)
			}
		}
	}
	if owned < 5 {
		t.Errorf("%d kinds that jobs own", owned)
	}
}
