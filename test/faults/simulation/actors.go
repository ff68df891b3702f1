package simulation

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/apimodel"
	"stoic/test/faults/history"
)

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
)

func podPath(name string) string { return "/api/v1/namespaces/" + namespace + "/pods/" + name }

// pod is what actors read of a pod.
type pod struct {
	name, uid, owner, phase string
	hasJob, deleting        bool
	restarts                int64
}

// pods returns those that exist, by name.
func (s *schedule) pods() (found []*pod) {
	for _, tree := range s.model.Objects("pods") {
		u := &unstructured.Unstructured{Object: tree}
		p := &pod{name: u.GetName(), uid: string(u.GetUID()), owner: string(history.Owner(u)), phase: history.Phase(u),
			hasJob: u.GetLabels()[labelJob] != "", deleting: u.GetDeletionTimestamp() != nil}
		statuses, _ := apimodel.Get(tree, "status", "containerStatuses").([]any)
		for _, one := range statuses {
			status, _ := one.(map[string]any)
			n, _ := status["restartCount"].(int64)
			p.restarts += n
		}
		found = append(found, p)
	}
	return found
}

// kubeletSteps adds what may happen to each pod.
func (s *schedule) kubeletSteps(c *choices) {
	w := s.profile.kubelet
	for _, p := range s.pods() {
		if !p.hasJob {
			continue // another owner's
		}
		switch {
		case p.deleting:
			c.add(w, func() { s.gone(p) })
			if p.phase == "Running" {
				c.add(w/4, func() { s.ends(p, "Failed", 143) })
				c.add(w/6, func() { s.ends(p, "Succeeded", 0) })
			}
		case p.phase == "Pending":
			c.add(2*w, func() { s.runs(p, 0) })
			c.add(w/10, func() { s.ends(p, "Failed", -1) })
		case p.phase == "Running":
			c.add(w/4, func() { s.ends(p, "Succeeded", 0) })
			c.add(w/4, func() { s.ends(p, "Failed", pick(s.rng, 1, 127, 130, 137, -1)) })
			c.add(w/12, func() { s.runs(p, 1) })
		}
		c.add(w/10, func() { s.gone(p) }) // its node was lost, or a user forced the deletion
	}
}

func (s *schedule) setPod(p *pod, status map[string]any) {
	s.request("kubelet", http.MethodPatch, podPath(p.name)+"/status", mergeType, encode(map[string]any{"status": status}))
}

// runs starts a pod, or restarts its container.
func (s *schedule) runs(p *pod, restarts int64) {
	s.setPod(p, map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": s.manifest.kind.Container, "restartCount": p.restarts + restarts,
		"state": map[string]any{"running": map[string]any{}}}}})
}

// ends ends a pod. A negative code is an eviction, which leaves no exit code.
func (s *schedule) ends(p *pod, phase string, code int) {
	statuses := []any{}
	if code >= 0 {
		statuses = append(statuses, map[string]any{"name": s.manifest.kind.Container, "restartCount": p.restarts,
			"state": map[string]any{"terminated": map[string]any{"exitCode": code}}})
	}
	s.setPod(p, map[string]any{"phase": phase, "containerStatuses": statuses})
}

func (s *schedule) gone(p *pod) {
	s.request("kubelet", http.MethodDelete, podPath(p.name), jsonType,
		encode(map[string]any{"gracePeriodSeconds": 0, "preconditions": map[string]any{"uid": p.uid}}))
}

// collectorSteps adds what the garbage collector may do.
func (s *schedule) collectorSteps(c *choices) {
	for _, step := range s.model.Collect() {
		c.add(4, func() { s.note("collector: %s", step.What); step.Do() })
	}
}

// user is the user who wrote the job, and any other client that may write to it and its children.
type user struct {
	*schedule
	broken      string   // the path of the error in the spec now; "" if there is none
	made        int      // how many jobs
	tampered    bool     // a user wrote the status, or the ledger, of this very job
	hasTampered bool     // or of an earlier one
	strangers   []string // resource/name of foreign objects
}

func (u *user) path() string {
	r := u.manifest.kind.Resource()
	return fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s", r.Group, r.Version, namespace, r.Plural)
}

func (u *user) jobPath() string { return u.path() + "/" + u.manifest.name }

func (u *user) create() {
	u.made++
	u.broken = ""
	u.tampered = false
	u.request("user", http.MethodPost, u.path(), jsonType, u.manifest.object())
	u.noteMalformed()
}

func (u *user) edit(patch map[string]any) int {
	code := u.request("user", http.MethodPatch, u.jobPath(), mergeType, encode(patch))
	u.noteMalformed()
	return code
}

// job returns the present job, or nil.
func (u *user) job() *unstructured.Unstructured {
	tree := u.model.Object(u.manifest.kind.Plural, namespace, u.manifest.name)
	if tree == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: tree}
}

// noteMalformed records whether the present spec is malformed.
func (u *user) noteMalformed() {
	if job := u.job(); job != nil {
		u.evidence.malformed[generationOf(job)] = u.broken
	}
}

func (u *user) editSpec(spec map[string]any) { u.edit(map[string]any{"spec": spec}) }

// steps adds what the user may do.
func (u *user) steps(c *choices) {
	const w = 4
	if u.job() == nil {
		if u.made < 3 {
			c.add(2*w, u.create)
		}
		return
	}
	c.add(w, u.toggle)
	c.add(w, u.scale)
	c.add(w, u.confuse)
	c.add((w+1)/2, u.tamper)
	c.add((w+3)/4, u.remove)
	c.add((w+1)/2, u.squat)
	if u.broken != "" {
		c.add(3*w, u.repair)
	}
	for _, p := range u.pods() {
		if p.owner == "" {
			continue
		}
		c.add((w+3)/4, func() { u.deletePod(p) })
		c.add((w+3)/4, func() { u.relabel(p) })
	}
}

func (u *user) toggle() {
	u.manifest.suspend = !u.manifest.suspend
	u.editSpec(map[string]any{"runPolicy": map[string]any{"suspend": u.manifest.suspend}})
}

// scale changes the number of workers.
func (u *user) scale() {
	if u.broken != "" {
		return
	}
	r := &u.manifest.rtypes[len(u.manifest.rtypes)-1]
	r.replicas = u.rng.IntN(4)
	if len(u.manifest.rtypes) == 1 || u.manifest.elastic {
		r.replicas = max(r.replicas, 1)
	}
	u.editSpec(map[string]any{u.manifest.kind.ReplicaSpecsField: map[string]any{r.name: map[string]any{"replicas": r.replicas}}})
}

// confuse makes the spec malformed.
func (u *user) confuse() {
	field := u.manifest.kind.ReplicaSpecsField
	worker := func(change map[string]any) map[string]any {
		return map[string]any{field: map[string]any{"Worker": change}}
	}
	switch u.rng.IntN(4) {
	case 0:
		u.broken = "spec." + field + ".Worker.replicas"
		u.editSpec(worker(map[string]any{"replicas": "two"}))
	case 1:
		u.broken = "spec." + field + ".Worker.template.spec.containers"
		u.editSpec(worker(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{}}}}))
	case 2:
		u.broken = "spec." + field + ".Worker.restartPolicy"
		u.editSpec(worker(map[string]any{"restartPolicy": "Sometimes"}))
	default:
		u.broken = "spec.runPolicy.cleanPodPolicy"
		u.editSpec(map[string]any{"runPolicy": map[string]any{"cleanPodPolicy": "Perhaps"}})
	}
}

func (u *user) repair() {
	u.broken = ""
	u.editSpec(u.manifest.spec())
}

// tamper changes what only the operator writes.
func (u *user) tamper() {
	u.tampered = true
	u.hasTampered = true
	set := func(status any) {
		u.request("user", http.MethodPatch, u.jobPath()+"/status", mergeType, encode(map[string]any{"status": status}))
	}
	switch u.rng.IntN(7) {
	case 0:
		set(nil)
	case 1:
		set(map[string]any{"conditions": nil})
	case 2:
		set(map[string]any{"conditions": "none", "startTime": 7})
	case 3:
		set(map[string]any{"replicaStatuses": map[string]any{"Worker": map[string]any{"active": -5, "failed": 1 << 30}, "Foo": map[string]any{}}})
	case 4:
		set(map[string]any{"startTime": "2099-01-01T00:00:00Z"})
	case 5:
		set(map[string]any{"conditions": []any{map[string]any{"type": "Running", "status": "True"}, map[string]any{"type": "Restarting", "status": "True"}}})
	default:
		u.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{history.LedgerAnnotation: pick(u.rng, any(nil), "{", `{"job":"other","restarts":9}`)}}})
	}
}

func (u *user) remove() {
	policy := pick(u.rng, "Background", "Foreground", "Orphan")
	u.request("user", http.MethodDelete, u.jobPath(), jsonType, encode(map[string]any{"propagationPolicy": policy}))
	u.noteMalformed()
}

// squat creates a foreign object with the name of a child.
func (u *user) squat() {
	r := u.manifest.rtypes[u.rng.IntN(len(u.manifest.rtypes))]
	name := u.manifest.pod(&r, u.rng.IntN(2))
	kind, resource := "Pod", "pods"
	spec := map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}
	if u.rng.IntN(2) == 0 {
		kind, resource, spec = "Service", "services", map[string]any{}
	}
	code := u.request("user", http.MethodPost, "/api/v1/namespaces/"+namespace+"/"+resource, jsonType,
		encode(map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}))
	if code == http.StatusCreated {
		u.strangers = append(u.strangers, resource+"/"+name)
	}
}

func (u *user) deletePod(p *pod) {
	u.request("user", http.MethodDelete, podPath(p.name), jsonType, []byte(`{}`))
}

// relabel changes a label of a pod that is for listing only.
func (u *user) relabel(p *pod) {
	change := pick(u.rng, map[string]any{labelIndex: "5000"}, map[string]any{labelIndex: "x"}, map[string]any{labelRole: nil})
	u.request("user", http.MethodPatch, podPath(p.name), mergeType, encode(map[string]any{"metadata": map[string]any{"labels": change}}))
}

// leave deletes the foreign objects.
func (u *user) leave() {
	for _, s := range u.strangers {
		u.request("user", http.MethodDelete, "/api/v1/namespaces/"+namespace+"/"+s, jsonType, []byte(`{"gracePeriodSeconds":0}`))
	}
	u.strangers = nil
}

// The names that the operator and its users share.
const (
	labelJob   = "training.kubeflow.org/job-name"
	labelRole  = "training.kubeflow.org/replica-type"
	labelIndex = "training.kubeflow.org/replica-index"
)
