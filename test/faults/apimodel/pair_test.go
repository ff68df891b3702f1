package apimodel

import (
	"fmt"
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
		Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "rolebindings", Kind: "RoleBinding", Namespaced: true})
}

// newPair creates the namespace.
func newPair(r *real, namespace string) (*pair, error) {
	w := New(time.Now, modelled()...)
	p := &pair{model: w, real: r, left: newSide(namespace, w.sending), right: newSide(namespace, r.send)}
	code, text, err := r.send("POST", "/api/v1/namespaces", "application/json", "application/json", encode(tree{"metadata": tree{"name": namespace}}))
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
	left, _ := p.left.do(s) // the model does not fail
	right, err := p.right.do(s)
	if err != nil {
		return "", err
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

// comparable returns an answer without the texts and tokens that differ between any two servers.
func (a answer) comparable() answer {
	a.original, a.next = "", ""
	return a
}

// unmodelled reports whether the model is known to answer a request differently.
func (p *pair) unmodelled(s step) bool {
	is := p.model.Object(s.resource, p.left.namespace, s.name)
	_, sets := Get(bodyOf(s), "metadata", "deletionTimestamp").(string)
	switch {
	case s.verb == "PUT" && is == nil:
		return true // it creates an object of some resources
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
