package apimodel

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pair is a model and a namespace of a real API server that receive the same requests.
type pair struct {
	model       *Model
	real        *real
	left, right *side // model, real
	since       string
	reported    []string // the steps and answers so far
}

func modelled() []Resource {
	return append(served(), Resource{Group: "kubeflow.org", Version: "v1", Plural: "pytorchjobs", Kind: "PyTorchJob", Status: true, Namespaced: true},
		// The objects that MPIJobs need beside pods.
		Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true},
		Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true},
		Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "roles", Kind: "Role", Namespaced: true},
		Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "rolebindings", Kind: "RoleBinding", Namespaced: true},
		Resource{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job", Status: true, Namespaced: true})
}

// newPair creates the namespace.
func newPair(r *real, namespace string) (*pair, error) {
	w := New(time.Now, modelled()...)
	p := &pair{model: w, real: r, left: newSide(namespace, w.sending), right: newSide(namespace, r.send)}
	code, text, err := r.send("POST", "/api/v1/namespaces", "application/json", "application/json", appendJSON(nil, tree{"metadata": tree{"name": namespace}}))
	if err != nil || code != 201 {
		return nil, fmt.Errorf("create namespace %s: %d %s %w", namespace, code, text, err)
	}
	made, err := parse(text)
	if err != nil {
		return nil, err
	}
	p.since, _ = Get(made, "metadata", "resourceVersion").(string)
	return p, nil
}

// do takes one step on both sides and returns how they differ.
func (p *pair) do(s step) (divergence string, err error) {
	if p.unmodelled(s) {
		return "", nil
	}
	before := p.left
	if s.verb == list {
		p.left = before.clone(before.send)
	}
	left, _ := p.left.do(s) // the model does not fail
	right, err := p.right.do(s)
	if err != nil {
		return "", err
	}
	if s.verb == list {
		left = p.asCached(s, before, left, right)
	}
	p.reported = append(p.reported, fmt.Sprintf("%v\n    model %d %.600s\n    real  %d %.600s", s, left.Code, left.original, right.Code, right.original))
	if (left.unreadable != "") && (right.unreadable != "" || right.Code == left.Code && left.Code > 399) || right.Code == 404 && left.Code == 404 {
		return "", nil // the answer for a path that is not served is plain text
	}
	if s.verb == list && left.More && right.More {
		next := step{verb: list, resource: s.resource, partial: s.partial}
		return p.follow(next, left, right)
	}
	return cmp.Diff(left.comparable(), right.comparable(), cmp.AllowUnexported(answer{})), nil
}

// asCached returns the model's answer to a list. The real server answers some lists from its watch cache, which is behind by
// chance. Where the answers differ, the model's cache is set behind, too, so far that they are equal, if possible. The real list
// must then have a version from before what it does not show, since its client would otherwise miss that.
func (p *pair) asCached(s step, before *side, latest, real answer) answer {
	defer p.model.SetCache(0)
	answer := latest
	for version := p.model.Version(); !sameAnswer(answer, real); version-- {
		if version <= start {
			return latest
		}
		c := p.model.Changes(version - 1)[0] // the last change that is not shown
		if c.Type != Deleted && number(real.version) >= number(p.right.of(c.Resource, c.Name).version) {
			return latest
		}
		p.model.SetCache(version - 1)
		p.left = before.clone(before.send)
		answer, _ = p.left.do(s)
	}
	return answer
}

// sameAnswer compares two answers without what always differs.
func sameAnswer(a, b answer) bool {
	return cmp.Equal(a.comparable(), b.comparable(), cmp.AllowUnexported(answer{}))
}

// comparable returns an answer without the texts and tokens that differ between any two servers.
func (a answer) comparable() answer {
	a.original, a.next, a.version = "", "", ""
	return a
}

func number(version string) int64 {
	n, _ := strconv.ParseInt(version, 10, 64) // an API server wrote it
	return n
}

// unmodelled reports whether the model is known to answer a request differently.
func (p *pair) unmodelled(s step) bool {
	is := p.model.Object(s.resource, p.left.namespace, s.name)
	_, sets := Get(bodyOf(s), "metadata", "deletionTimestamp").(string)
	switch {
	case s.verb == "PUT" && s.resource == "services" && s.subresource != "" && is == nil:
		return true // it creates an object, if the spec is complete
	case sets && is != nil && Get(is, "metadata", "deletionTimestamp") != nil:
		return true // it changes nothing but managedFields, which the model does not have
	}
	return false
}

func bodyOf(s step) tree {
	body, _ := s.body.(tree)
	return body
}

// follow follows a list to its end.
func (p *pair) follow(next step, left, right answer) (string, error) {
	token := [2]string{left.next, right.next}
	if diff := cmp.Diff(left.comparable(), right.comparable(), cmp.AllowUnexported(answer{})); diff != "" {
		return diff, nil
	}
	one, two := next, next
	one.query, two.query = "?continue="+token[0], "?continue="+token[1]
	left, _ = p.left.do(one)
	right, err := p.right.do(two)
	return cmp.Diff(left.comparable(), right.comparable(), cmp.AllowUnexported(answer{})), err
}

// TestListFromABehindCache: a list of the real server that lacks the last writes is no divergence if it may be answered from the
// watch cache and has a version from before them.
func TestListFromABehindCache(t *testing.T) {
	for name, c := range map[string]struct {
		query   string
		says    string // the version of the real list, if it is not true
		diverge bool
	}{
		"may be behind":                    {"?resourceVersion=0", "", false},
		"no older than the first":          {"?resourceVersion=101", "", false},
		"says a version that it is not of": {"?resourceVersion=0", "103", true},
		"must be consistent":               {"?resourceVersion=103", "101", true},
	} {
		t.Run(name, func(t *testing.T) {
			model, real := New(noon, modelled()...), New(noon, modelled()...)
			send := func(method, path, contentType, accept string, body []byte) (int, []byte, error) {
				if c.diverge && method == "GET" { // it answers as a wrong server would
					path = strings.Replace(path, "resourceVersion=103", "resourceVersion=0", 1)
				}
				code, text, err := real.sending(method, path, contentType, accept, body)
				if method == "GET" && c.says != "" {
					text = bytes.Replace(text, []byte(`"metadata":{"resourceVersion":"101"`), []byte(`"metadata":{"resourceVersion":"`+c.says+`"`), 1)
				}
				return code, text, err
			}
			p := &pair{model: model, left: newSide("a", model.sending), right: newSide("a", send)}
			for _, name := range []string{"p", "q", "r"} {
				if diff, err := p.do(step{verb: "POST", resource: "configmaps", name: name, body: manifest("configmaps", name)}); diff != "" || err != nil {
					t.Fatal(diff, err)
				}
			}
			real.SetCache(101)
			diff, err := p.do(step{verb: list, resource: "configmaps", name: "p", query: c.query})
			if err != nil || (diff != "") != c.diverge {
				t.Errorf("error %v; the answers differ:\n%s", err, diff)
			}
			if diff, err := p.do(step{verb: "GET", resource: "configmaps", name: "r"}); diff != "" || err != nil {
				t.Errorf("afterwards: %v\n%s", err, diff)
			}
		})
	}
}
