package oracle

import (
	"slices"
	"testing"

	"stoic/test/faults/history"
)

// TestRecreated: an object that others removed for a while is replaced by one, under any name, and by nothing else.
func TestRecreated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*story)
		want   int
	}{
		"none":                {func(*story) {}, 0},
		"one":                 {func(s *story) { s.comesAndGoes("Service job-a a") }, 0},
		"two":                 {func(s *story) { s.comesAndGoes("Service job-a a"); s.comesAndGoes("Service job-b b") }, 2},
		"of another resource": {func(s *story) { s.comesAndGoes("Secret job-a a") }, 2},
		"fewer":               {func(s *story) { s.versions = slices.Delete(s.versions, 0, 2) }, 2},
	} {
		s := &story{t: t}
		s.comesAndGoes("Service job-worker-0 s")
		reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
		c.change(s)
		s.limits.Recreated = map[string]int{"services": 1}
		if found := s.judge(reference); len(found) != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func (s *story) comesAndGoes(what string) {
	s.tell("ADDED "+what, "")
	s.tell("DELETED "+what, "")
}

// TestMadeInTheMoment: an object that is created while its job is being deleted, and is deleted with it, is not a difference.
func TestMadeInTheMoment(t *testing.T) {
	s := good(t)
	s.tell("DELETED TFJob job j", `{`+spec+`status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`)
	reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
	const child = `{metadata: {ownerReferences: [{apiVersion: a, kind: TFJob, name: job, uid: j, controller: true}]}}`
	s.tell("ADDED Service job-worker-0 s", child)
	s.tell("DELETED Service job-worker-0 s", child)
	for _, v := range s.judge(reference) {
		t.Error(v)
	}
}
