package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// aJob returns the subject of the stories of these tests.
func aJob() history.Subject {
	return history.Subject{Resource: schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "tfjobs"}, Name: "job"}
}

// story is a run under construction: versions a second apart, and requests.
type story struct {
	t        *testing.T
	versions []history.Version
	journal  []proxy.Entry
	limits   Limits
}

// now returns when the next version is reported.
func (s *story) now() time.Time { return time.Unix(int64(len(s.versions)), 0) }

// tell adds a version: "ADDED Pod job-worker-0 p" and more in YAML.
func (s *story) tell(line, more string) {
	s.t.Helper()
	fields := strings.Fields(line)
	u := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(more))
	if err == nil {
		err = json.Unmarshal(text, &u.Object) // whole numbers as they come from an API server
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if u.Object == nil {
		u.Object = map[string]any{}
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(fields[1]) + "s"}
	if fields[1] == "TFJob" {
		resource.Group = "kubeflow.org"
	}
	u.SetAPIVersion(resource.GroupVersion().String())
	u.SetKind(fields[1])
	u.SetName(fields[2])
	u.SetUID(types.UID(fields[3]))
	u.SetResourceVersion(fmt.Sprint(len(s.versions) + 1))
	s.versions = append(s.versions, history.Version{At: s.now(), Type: watch.EventType(fields[0]), Resource: resource, Object: u})
}

// ask adds a request that the API server grants: "delete pods job-worker-0" with a body.
func (s *story) ask(line, body, answer string) {
	fields := strings.Fields(line)
	e := proxy.Entry{Request: proxy.Request{Verb: fields[0], Resource: fields[1], Name: fields[2], Body: []byte(body), Number: len(s.journal) + 1},
		Began: s.now(), Forwarded: true, Code: 200, Body: []byte(answer)}
	if fields[1] == "tfjobs" {
		e.Group = "kubeflow.org"
	}
	s.journal = append(s.journal, e)
}

func (s *story) judge(against Reference) []Violation {
	return Judge(Jobs(), history.Of(aJob(), s.versions...), s.journal, against, s.limits)
}

// pod returns the metadata and status of a pod.
func pod(owner, index, phase string) string {
	return fmt.Sprintf(`{metadata: {labels: {training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: %q},
		ownerReferences: [{apiVersion: kubeflow.org/v1, kind: TFJob, name: job, uid: %s, controller: true}]}, status: {phase: %s}}`, index, owner, phase)
}

const spec = `spec: {tfReplicaSpecs: {Worker: {replicas: 2}}}, `

// good returns a run in which nothing went wrong: two replicas, one of which failed and was recreated; then the job succeeded.
func good(t *testing.T) *story {
	s := &story{t: t, limits: Limits{Paths: []string{"spec.x"}}}
	s.tell("ADDED TFJob job j", `{`+spec+`}`)
	s.tell("MODIFIED TFJob job j", `{metadata: {generation: 1}, `+spec+`status: {observedGeneration: 1, conditions: [{type: Stalled, status: "True"}, {type: Failed, status: "True", reason: InvalidSpec}]}}`)
	s.tell("ADDED Event e e", `{type: Warning, reason: TFJobFailedValidation, count: 1, involvedObject: {name: job, fieldPath: spec.x}}`)
	s.ask("create pods job-worker-0", "", `{"metadata":{"uid":"p0"}}`)
	s.tell("ADDED Pod job-worker-0 p0", pod("j", "0", "Pending"))
	s.tell("ADDED Pod job-worker-1 p1", pod("j", "1", "Running"))
	s.tell("MODIFIED Pod job-worker-0 p0", pod("j", "0", "Failed"))
	s.ask("delete pods job-worker-0", `{"preconditions":{"uid":"p0"}}`, "")
	s.tell("DELETED Pod job-worker-0 p0", pod("j", "0", "Failed"))
	s.tell("ADDED Pod job-worker-0 p2", pod("j", "0", "Running"))
	s.tell("MODIFIED Pod job-worker-0 p2", pod("j", "0", "Succeeded"))
	s.tell("MODIFIED TFJob job j", `{`+spec+`status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`)
	return s
}

func TestNothingWrong(t *testing.T) {
	s := good(t)
	reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
	for _, v := range s.judge(reference) {
		t.Error(v)
	}
	if reference.Writes != 2 || reference.Events != 1 || len(reference.Versions) != 9 ||
		reference.Created["pods"]["JOB-worker-0"] != 2 || reference.Deleted["pods"]["JOB-worker-0"] != 1 {
		t.Errorf("the reference is %+v", reference)
	}
}

// TestEachOracle: each of these runs breaks exactly one rule.
func TestEachOracle(t *testing.T) {
	deleting := `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, ` + spec + `status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`
	for name, test := range map[string]struct {
		spoil  func(*story)
		oracle string
		text   string
		// also are the other oracles that inevitably see it, too.
		also []string
	}{
		"end state": {func(s *story) { s.tell("MODIFIED Pod job-worker-1 p1", pod("j", "1", "Failed")) }, "O1", "the end state differs", nil},
		"made too often": {func(s *story) {
			s.tell("ADDED Service job-worker-0 s", "")
			s.tell("DELETED Service job-worker-0 s", "")
		}, "O2", "services JOB-worker-0 was created 1 times, want 0", []string{"O2"}},
		"no condition": {func(s *story) { s.versions = slices.Delete(s.versions, 1, 2) }, "O5", "no condition", nil},
		"not told":     {func(s *story) { s.versions = slices.Delete(s.versions, 2, 3) }, "O5", "spec.x was told 0 times, want 1", nil},
		"told twice": {func(s *story) {
			s.tell("ADDED Event f f", `{type: Warning, reason: TFJobFailedValidation, count: 1, involvedObject: {name: job, fieldPath: spec.x}}`)
		}, "O5", "spec.x was told 2 times", nil},
		"told and counted": {func(s *story) {
			s.tell("MODIFIED Event e e", `{type: Warning, reason: TFJobFailedValidation, count: 2, involvedObject: {name: job, fieldPath: spec.x}}`)
		}, "O5", "spec.x was told 2 times", nil},
		"two pods": {func(s *story) {
			s.tell("ADDED Pod job-worker-one p3", pod("j", "1", "Pending"))
			s.tell("DELETED Pod job-worker-one p3", pod("j", "1", "Pending"))
		}, "O6", "2 pods that have not ended for one replica", []string{"O2", "O6"}},
		"DELETE without UID": {func(s *story) { s.ask("delete services job-worker-0", `{}`, "") }, "O6", "delete services job-worker-0 without a UID", nil},
		"DELETE of many":     {func(s *story) { s.ask("deletecollection pods -", ``, "") }, "O6", "deletecollection", nil},
		"somebody else's pod": {func(s *story) {
			s.tell("ADDED Pod job-worker-7 p7", pod("other", "7", "Running"))
			s.ask("delete pods job-worker-7", `{"preconditions":{"uid":"p7"}}`, "")
		}, "O6", "delete pods job-worker-7, which somebody else (other) controls", []string{"O1", "O2"}},
		"nobody's service": {func(s *story) {
			s.tell("ADDED Service job-x s", "")
			s.ask("patch services job-x", `{}`, "")
		}, "O6", "patch services job-x, which nobody controls", []string{"O1", "O2"}},
		"made for a job that goes": {func(s *story) {
			s.tell("MODIFIED TFJob job j", deleting)
			s.tell("MODIFIED Event e e", `{type: Warning, reason: TFJobFailedValidation, count: 1, involvedObject: {name: job, fieldPath: spec.x}}`)
			s.ask("create services job-worker-2", "", `{"metadata":{"uid":"s"}}`)
			s.tell("ADDED Service job-worker-2 s", `{metadata: {ownerReferences: [{apiVersion: a, kind: TFJob, name: job, uid: j, controller: true}]}}`)
		}, "O6", "services job-worker-2 was made for a job whose deletion was known for 2s", []string{"O1"}},
		"terminal condition taken back": {func(s *story) {
			s.tell("MODIFIED TFJob job j", `{`+spec+`status: {completionTime: "1", conditions: [{type: Running, status: "True"}]}}`)
		}, "O6", "had the terminal condition Succeeded at 1, and at resourceVersion", []string{"O1"}},
		"terminal condition given again": {func(s *story) {
			s.tell("MODIFIED TFJob job j", `{`+spec+`status: {completionTime: "2", conditions: [{type: Succeeded, status: "True"}]}}`)
		}, "O6", "Succeeded at 2", nil},
		"too many writes": {func(s *story) {
			for range 25 {
				s.ask("patch tfjobs job", "", "")
			}
		}, "O6", "27 writes, at most 26", nil},
		"too many events": {func(s *story) {
			for i := range 13 {
				s.tell(fmt.Sprintf("ADDED Event e%d e%d", i, i), "")
			}
		}, "O6", "14 events, at most 13", nil},
		"a pod in the place of one that failed as it was deleted": {func(s *story) {
			s.tell("MODIFIED Pod job-worker-1 p1", strings.Replace(pod("j", "1", "Failed"), "{metadata: {", `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", `, 1))
			s.tell("ADDED Pod job-worker-1 p3", pod("j", "1", "Running"))
		}, "O6", "4 pods were made for job j, at most 3 (1 failed)", []string{"O1", "O2"}},
		"too many pods": {func(s *story) {
			s.tell("ADDED Pod job-worker-9 p9", pod("j", "9", "Succeeded"))
		}, "O6", "4 pods were made for job j, at most 3 (1 failed)", []string{"O1", "O2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good(t)
			reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
			test.spoil(s)
			found := s.judge(reference)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Oracle == test.oracle && strings.Contains(v.Text, test.text) }) {
				t.Errorf("want %s: ...%s...; found %v", test.oracle, test.text, found)
			}
			for _, v := range found {
				if !(v.Oracle == test.oracle && strings.Contains(v.Text, test.text)) && !slices.Contains(test.also, v.Oracle) {
					t.Errorf("and it found %v", v)
				}
			}
		})
	}
}

// TestLedgerInTheEndState: whether the ledger notes the terminal condition depends on the course of the run, so it is ignored if
// it agrees with the status. The number of restarts and another terminal condition are differences.
func TestLedgerInTheEndState(t *testing.T) {
	for ledger, want := range map[string]int{
		`{"restarts":0,"verdict":"Succeeded"}`: 0,
		`{"restarts":0}`:                       0,
		``:                                     0,
		`{"restarts":1}`:                       1,
		`{"restarts":0,"verdict":"Failed"}`:    1,
		`nonsense`:                             1,
	} {
		s := good(t)
		note := func(text string) {
			s.versions[len(s.versions)-1].Object.SetAnnotations(map[string]string{"training.kubeflow.org/ledger": text})
		}
		note(`{"restarts":0,"verdict":"Succeeded"}`)
		reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
		note(ledger)
		if found := s.judge(reference); len(found) != want {
			t.Errorf("%s: found %v", ledger, found)
		}
	}
}

// TestAllowed: each of these is allowed although it resembles a violation.
func TestAllowed(t *testing.T) {
	for name, change := range map[string]func(*story){
		"a DELETE that was refused": func(s *story) {
			s.tell("ADDED Pod job-worker-7 p7", pod("other", "7", "Running"))
			s.ask("delete pods job-worker-7", `{"preconditions":{"uid":"p7"}}`, "")
			s.journal[len(s.journal)-1].Code = 409
			s.tell("DELETED Pod job-worker-7 p7", pod("other", "7", "Running"))
		},
		"a look at somebody else's pod": func(s *story) {
			s.tell("ADDED Pod job-worker-7 p7", pod("other", "7", "Running"))
			s.ask("get pods job-worker-7", "", "")
		},
		"a pod that has become ours": func(s *story) {
			s.tell("ADDED Pod job-worker-7 p7", pod("other", "7", "Failed"))
			s.tell("MODIFIED Pod job-worker-7 p7", pod("j", "7", "Failed"))
			s.ask("delete pods job-worker-7", `{"preconditions":{"uid":"p7"}}`, "")
		},
		"a terminal condition wiped by others, and given again": func(s *story) {
			s.limits.Edited = true
			s.tell("MODIFIED TFJob job j", `{`+spec+`status: {}}`)
			s.tell("MODIFIED TFJob job j", `{`+spec+`status: {completionTime: "2", conditions: [{type: Succeeded, status: "True"}]}}`)
		},
		"events of a path that tell of something else": func(s *story) {
			s.tell("ADDED Event f f", `{type: Normal, reason: TFJobFailedValidation, count: 1, involvedObject: {name: job, fieldPath: spec.x}}`)
			s.tell("ADDED Event g g", `{type: Warning, reason: FailedCreate, count: 1, involvedObject: {name: job, fieldPath: spec.x}}`)
		},
		"made at the moment of the deletion": func(s *story) {
			s.tell("MODIFIED TFJob job j", `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, `+spec+`status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`)
			s.ask("create services job-worker-2", "", `{"metadata":{"uid":"s"}}`)
			s.tell("ADDED Service job-worker-2 s", `{metadata: {ownerReferences: [{apiVersion: a, kind: TFJob, name: job, uid: j, controller: true}]}}`)
		},
		"a generation that somebody else writes into the status": func(s *story) {
			s.tell("MODIFIED TFJob job j", `{metadata: {generation: 1}, `+spec+`status: {observedGeneration: 77, completionTime: "1", conditions: [{type: Stalled, status: "True"}, {type: Succeeded, status: "True"}]}}`)
		},
		"once more after a suspension": func(s *story) {
			s.tell("MODIFIED TFJob job j", `{spec: {runPolicy: {suspend: true}}, status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`)
			s.tell("MODIFIED TFJob job j", `{spec: {runPolicy: {suspend: false}}, status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`)
			s.tell("ADDED Pod job-worker-9 p9", pod("j", "9", "Succeeded"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := good(t)
			change(s)
			reference := Observe(Jobs(), history.Of(aJob(), s.versions...), s.journal)
			for _, v := range s.judge(reference) {
				t.Error(v)
			}
		})
	}
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
