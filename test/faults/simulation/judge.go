package simulation

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kwatch "k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/apimodel"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
)

// evidence is what the oracle judges: the requests of all processes. Its clock is the version of the model, as many commits happen at one
// simulated time.
type evidence struct {
	journal []proxy.Entry
	// malformed are the paths of the problems in specs, by UID and generation of the job.
	malformed map[string]string
}

func at(version int64) time.Time { return time.Unix(0, version) }

// record adds a request that was carried out at a version.
func (e *evidence) record(q *request, version int64, a apimodel.Answer) {
	verbs := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "get"}
	resource, subresource, _ := strings.Cut(q.Resource, "/")
	name := q.Name
	if q.Method == http.MethodPost {
		name = nameIn(q.Body)
	}
	group := ""
	if steps := strings.Split(q.URL.Path, "/"); steps[1] == "apis" {
		group = steps[2]
	}
	e.journal = append(e.journal, proxy.Entry{
		Request: proxy.Request{Number: len(e.journal), Verb: verbs[q.Method], Group: group, Resource: resource, Subresource: subresource,
			Namespace: q.Namespace, Name: name, Query: q.query, Body: q.Body},
		Began: at(version), Forwarded: true, Code: a.Code, Body: a.Body,
	})
}

func nameIn(object []byte) string {
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON(object) != nil {
		return ""
	}
	return u.GetName()
}

func generationOf(job *unstructured.Unstructured) string {
	return fmt.Sprint(job.GetUID(), " ", job.GetGeneration())
}

// history returns what happened to the job.
func (s *schedule) history() *history.Run {
	served := map[string]schema.GroupVersionResource{}
	for _, r := range resources(s.manifest.kind) {
		served[r.Plural] = schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
	}
	changes := s.model.Changes(0)
	versions := make([]history.Version, len(changes))
	for i, c := range changes {
		versions[i] = history.Version{At: at(c.Version), Type: kwatch.EventType(c.Type), Resource: served[c.Resource], Object: &unstructured.Unstructured{Object: c.Tree}}
	}
	return history.Of(history.Subject{Resource: served[s.manifest.kind.Plural], Namespace: namespace, Name: s.manifest.name}, versions...)
}

func (s *schedule) limits() oracle.Limits {
	return oracle.Limits{
		Edited:    s.user.tampered,
		Malformed: func(job *unstructured.Unstructured) string { return s.evidence.malformed[generationOf(job)] },
	}
}

// judge judges all requests and all versions.
func (s *schedule) judge() {
	limits := s.limits()
	limits.Edited = s.user.hasTampered // the rules hold for all jobs
	for _, v := range oracle.Always(oracle.Disturbed(), s.history(), s.evidence.journal, limits) {
		s.violated("%s", v.Text)
	}
}

// judgeRest judges what exists at the end.
func (s *schedule) judgeRest() {
	for _, v := range oracle.AtRest(s.history(), s.limits()) {
		s.violated("%s", v.Text)
	}
}
