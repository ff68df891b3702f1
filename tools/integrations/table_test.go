package integrations

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// table says what each program makes of a job in each state. docs/integrations.md shows the first columns.
const table = `
state                   | Argo CD     | Flux       | kstatus     | Argo Workflows | Katib     | Kueue
new                     | Progressing | waits      | Current     | running        | running   |
created                 | Progressing | InProgress | Current     | running        | running   |
running                 | Progressing | InProgress | Current     | running        | running   | ready+active
restarting              | Progressing | InProgress | Current     | running        | running   |
running-again           | Progressing | InProgress | Current     | running        | running   | ready+active
suspended               | Suspended   | InProgress | Current     | running        | running   | suspended
suspended-while-running | Suspended   | InProgress | Current     | running        | running   | suspended
resumed                 | Progressing | InProgress | Current     | running        | running   | ready+active
succeeded               | Healthy     | Current    | Current     | succeeded      | succeeded | Succeeded
failed                  | Degraded    | Failed     | Current     | failed         | failed    | Failed
unobserved              | Progressing | InProgress | InProgress  | running        | running   | ready+active
rejected                | Degraded    | Failed     | Failed      | failed         | failed    | Failed
repaired                | Progressing | InProgress | Current     | running        | running   | ready+active
rejected-edit-suspended | Degraded    | Failed     | Failed      | running        | running   | suspended
rejected-edit           | Degraded    | Failed     | Failed      | running        | running   | ready+active
repaired-edit           | Progressing | InProgress | Current     | running        | running   | ready+active
rejected-edit-succeeded | Degraded    | Failed     | Failed      | succeeded      | succeeded | Succeeded
deleted                 | Progressing | InProgress | Terminating | running        | running   | ready+active
`

// parseTable returns what the table says by state and program.
func parseTable() map[string]map[string]string {
	cells := func(line string) []string {
		all := strings.Split(line, "|")
		for i := range all {
			all[i] = strings.TrimSpace(all[i])
		}
		return all
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	head := cells(lines[0])
	want := map[string]map[string]string{}
	for _, line := range lines[1:] {
		row := cells(line)
		want[row[0]] = map[string]string{}
		for i, name := range head[1:] {
			want[row[0]][name] = row[i+1]
		}
	}
	return want
}

// TestPrograms compares what programs make of jobs with the table. CRDs of training-operator 1.9 drop status.observedGeneration; each
// program must say the same without it, except for a generation that was not observed.
func TestPrograms(t *testing.T) {
	want := parseTable()
	states := map[string]bool{}
	for _, j := range readJobs(t) {
		states[j.state] = true
		pruned := j.changed(func(object map[string]any) { unstructured.RemoveNestedField(object, "status", "observedGeneration") })
		for _, p := range allPrograms(t) {
			if got := p.read(j); got != want[j.state][p.name] && got != "-" {
				t.Errorf("%s: %s says %q, want %q", j, p.name, got, want[j.state][p.name])
			}
			state := j.state
			if state == "unobserved" {
				state = "running"
			}
			if got := p.read(pruned); got != want[state][p.name] && got != "-" {
				t.Errorf("%s, without observedGeneration: %s says %q, want %q", j, p.name, got, want[state][p.name])
			}
		}
	}
	if len(states) != len(want) {
		t.Errorf("%d states of jobs, the table has %d", len(states), len(want))
	}
}

func renameCondition(object map[string]any, was, becomes string) {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, c := range conditions {
		if fields := c.(map[string]any); fields["type"] == was {
			fields["type"] = becomes
		}
	}
	_ = unstructured.SetNestedSlice(object, conditions, "status", "conditions")
}

// TestArgoCDMalformedStatus checks that a malformed status causes no error in a health script.
func TestArgoCDMalformedStatus(t *testing.T) {
	health := argoHealth(t)
	for _, j := range jobsIn(t, "running") {
		for _, status := range []any{"none", map[string]any{}, map[string]any{"conditions": "none"}, map[string]any{"conditions": []any{"none", map[string]any{"status": "True"}}}} {
			if got := health(j.changed(func(object map[string]any) { object["status"] = status })); got != "Progressing" {
				t.Errorf("%s with status %v: %s", j, status, got)
			}
		}
	}
}
