package oracle

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

const created = `{"kind":"Pod","metadata":{"name":"job-worker-1","ownerReferences":[{"uid":"j","controller":true}]}}`

// TestInformed: a write that the state of the job forbids is a violation if its author knew the state, and only then.
func TestInformed(t *testing.T) {
	create := func(s *story) { s.ask("create pods job-worker-1", created, "") }
	remove := func(s *story) { s.ask("delete pods job-worker-0", `{"preconditions":{"uid":"p0"}}`, "") }
	for name, c := range map[string]struct {
		job   string // what the job becomes
		write func(*story)
		text  string
	}{
		"created for a job that goes":      {`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, ` + spec + `}`, create, "gone or going"},
		"created for a job that is over":   {`{` + spec + `status: {conditions: [{type: Failed, status: "True"}]}}`, create, "is over"},
		"created for a suspended job":      {`{spec: {runPolicy: {suspend: true}, tfReplicaSpecs: {Worker: {replicas: 2}}}}`, create, "does not ask for"},
		"created beyond the replicas":      {`{spec: {tfReplicaSpecs: {Worker: {replicas: 1}}}}`, create, "does not ask for"},
		"deleted by a job that wants it":   {`{` + spec + `}`, remove, "pods job-worker-0 was deleted, which the job asks for"},
		"a job that is deleted as it runs": {`{` + spec + `}`, func(s *story) { s.ask("delete tfjobs job", `{"preconditions":{"uid":"j"}}`, "") }, "is not over"},
		"a pod that is changed":            {`{` + spec + `}`, func(s *story) { s.ask("patch pods job-worker-0", `{}`, "") }, "nothing of this kind is ever changed"},
	} {
		for _, knows := range []bool{true, false} {
			s := &story{t: t}
			s.tell("ADDED TFJob job j", `{spec: {runPolicy: {suspend: true}, tfReplicaSpecs: {Worker: {replicas: 2}}}, status: {conditions: [{type: Succeeded, status: "True"}]}}`)
			if strings.HasPrefix(name, "created") {
				s.tell("MODIFIED TFJob job j", `{`+spec+`}`)
			}
			s.tell("ADDED Pod job-worker-0 p0", pod("j", "0", "Running"))
			s.tell("MODIFIED TFJob job j", c.job)
			c.write(s)
			for i := range s.journal {
				s.journal[i].Began = time.Unix(100, 0)
			}
			limits := Limits{Known: func(e proxy.Entry, _ string) time.Time {
				if knows {
					return e.Began
				}
				return time.Unix(1, 0) // the state before, in which the write was right
			}}
			text := ""
			for _, v := range Always(Informed(), history.Of(aJob(), s.versions...), s.journal, nil, limits) {
				text += v.Text + "\n"
			}
			if want := knows || name == "a pod that is changed"; strings.Contains(text, c.text) != want {
				t.Errorf("%s, known: %v: found %q", name, knows, text)
			}
		}
	}
}

// TestAtRest: each of these states at the end breaks one rule.
func TestAtRest(t *testing.T) {
	const one = `spec: {runPolicy: {cleanPodPolicy: All}, tfReplicaSpecs: {Worker: {replicas: 1}}}, `
	const running = `{` + one + `status: {conditions: [{type: Running, status: "True"}], replicaStatuses: {Worker: {active: 1}}}}`
	const service = `{metadata: {ownerReferences: [{kind: TFJob, name: job, uid: j, controller: true}]}}`
	for name, c := range map[string]struct{ job, pod, service, text string }{
		"as it should be":            {running, pod("j", "0", "Running"), service, ""},
		"no pod":                     {running, "", service, "pod job-worker-0 is missing"},
		"no service":                 {running, pod("j", "0", "Running"), "", "service job-worker-0 is missing"},
		"a pod of another job":       {running, pod("other", "0", "Running"), service, "belongs to a job that is gone"},
		"a wrong count":              {running, pod("j", "0", "Pending"), service, "the status counts"},
		"a pod that failed":          {running, pod("j", "0", "Failed"), service, "has failed"},
		"nobody noticed the success": {running, pod("j", "0", "Succeeded"), service, "Worker has succeeded and the job has no terminal condition"},
		"over without a reason":      {`{` + one + `status: {completionTime: "1", conditions: [{type: Failed, status: "True"}]}}`, "", "", "said to have Failed, and no pod ever has"},
		"over, and not cleaned":      {`{` + one + `status: {completionTime: "1", conditions: [{type: Succeeded, status: "True"}]}}`, pod("j", "0", "Succeeded"), "", "cleanPodPolicy is All, and pod job-worker-0 exists"},
		"suspended, and it runs":     {`{spec: {runPolicy: {suspend: true}}, status: {conditions: [{type: Suspended, status: "True"}]}}`, pod("j", "0", "Running"), "", "the job is suspended and has 1 pods"},
		"malformed, and not told":    {`{` + one + `metadata: {generation: 2}, status: {conditions: [{type: Stalled, status: "True"}]}}`, "", "", "no event tells that the spec is wrong at spec.x"},
	} {
		s := &story{t: t}
		s.tell("ADDED TFJob job j", c.job)
		if c.pod != "" {
			s.tell("ADDED Pod job-worker-0 p0", c.pod)
		}
		if c.service != "" {
			s.tell("ADDED Service job-worker-0 s0", c.service)
		}
		found := AtRest(history.Of(aJob(), s.versions...), Limits{Malformed: func(job *unstructured.Unstructured) string {
			if job.GetGeneration() == 2 {
				return "spec.x"
			}
			return ""
		}})
		text := ""
		for _, v := range found {
			text += v.Text + "\n"
		}
		if !strings.Contains(text, c.text) || c.text == "" && text != "" {
			t.Errorf("%s: found %q, want ...%s...", name, text, c.text)
		}
	}
}
