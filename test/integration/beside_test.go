package integration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// malformations are ways in which a job of any kind can be malformed, with the path of the finding. ROLES is the placeholder of
// the field of the replica types, ROLE that of a required replica type.
var malformations = map[string]struct {
	path  string
	spoil func(spec map[string]any, field, rtype string)
}{
	"string-for-number": {"spec.runPolicy.backoffLimit", func(spec map[string]any, _, _ string) {
		spec["runPolicy"] = map[string]any{"backoffLimit": "often"}
	}},
	"odd-quantity": {"spec.ROLES.ROLE.template.spec.containers[0].resources.limits.cpu", func(spec map[string]any, field, rtype string) {
		container(spec, field, rtype)["resources"] = map[string]any{"limits": map[string]any{"cpu": "1e1.5"}}
	}},
	"null-replica-type": {"spec.ROLES.ROLE", func(spec map[string]any, field, rtype string) {
		spec[field].(map[string]any)[rtype] = nil
	}},
	"list-of-replica-types": {"spec.ROLES", func(spec map[string]any, field, _ string) {
		spec[field] = []any{int64(7)}
	}},
	"list-for-policy": {"spec.runPolicy", func(spec map[string]any, _, _ string) {
		spec["runPolicy"] = []any{int64(1), int64(2)}
	}},
	"long-label": {"spec.ROLES.ROLE.template.metadata.labels.team", func(spec map[string]any, field, rtype string) {
		spec[field].(map[string]any)[rtype].(map[string]any)["template"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"team": strings.Repeat("x", 64)}}
	}},
	"huge-number": {"spec.runPolicy.ttlSecondsAfterFinished", func(spec map[string]any, _, _ string) {
		spec["runPolicy"] = map[string]any{"ttlSecondsAfterFinished": 1e30}
	}},
	"argument-map": {"spec.ROLES.ROLE.template.spec.containers[0].args[0]", func(spec map[string]any, field, rtype string) {
		container(spec, field, rtype)["args"] = []any{map[string]any{"steps": int64(1000)}}
	}},
}

// container returns the container of a replica type.
func container(spec map[string]any, field, rtype string) map[string]any {
	pod := spec[field].(map[string]any)[rtype].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return pod["containers"].([]any)[0].(map[string]any)
}

// TestMalformedBesideHealthy: every kind is served by CRDs that accept anything, on a cluster for each version of MPIJobs. When
// the operator starts, each kind has malformed objects of every sort, beside a healthy one. The healthy ones succeed, events
// report where the mistakes are, and then no more requests are sent to the API server.
func TestMalformedBesideHealthy(t *testing.T) {
	full(t)
	for name, serves := range map[string]func(*training.Kind) bool{
		"kubeflow.org/v1":      func(k *training.Kind) bool { return k.Version == "v1" },
		"kubeflow.org/v2beta1": func(k *training.Kind) bool { return k != kinds.MPIJob() }, // whose CRD it replaces
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			served := slices.DeleteFunc(kinds.Served(), func(k *training.Kind) bool { return !serves(k) })
			var crds []string
			for _, k := range served {
				crds = append(crds, filepath.Join(root, "test/fixtures", k.Plural+strings.TrimSuffix("-"+k.Version, "-v1")+"-open.yaml"))
			}
			r := bareRig(t, cluster.Options{CRDs: crds})
			r.permit(t, "deploy/mpijob-v2beta1/rbac.yaml")
			for _, k := range served {
				r.of(k).storeBeside(t)
			}
			p := r.operator(t, "")
			for _, k := range served {
				r.of(k).besideEndsWell(t)
			}
			besideIsQuiet(t, r, p, served)
		})
	}
}

func (r *rig) besideSpace() string { return r.kind.Singular + "-beside" }

// leads returns the name of the replica type that decides when a job ends.
func leads(kind *training.Kind) string {
	for _, rtype := range kind.ReplicaTypes {
		if rtype.Required {
			return rtype.Name
		}
	}
	return "Worker"
}

// healthySpec returns the spec of a job whose one deciding pod ends after a second.
func healthySpec(t *testing.T, kind *training.Kind) (spec map[string]any) {
	t.Helper()
	rtypes := map[string]any{leads(kind): replicaTypeOf(kind, 1, "Never", map[string]string{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": "1s"})}
	if kind.Name == "MPIJob" {
		rtypes["Worker"] = replicaTypeOf(kind, 1, "Never", nil)
	}
	if err := json.Unmarshal(schema.JSON(map[string]any{kind.ReplicaSpecsField: rtypes}), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// storeBeside stores one healthy job and all malformed ones.
func (r *rig) storeBeside(t *testing.T) {
	t.Helper()
	r.awaitEstablished(t, r.kind)
	r.removeScale(t, definitionOf(r.kind))
	ns := r.namespace(t, r.besideSpace())
	for _, name := range append(slices.Sorted(maps.Keys(malformations)), "healthy") {
		spec := healthySpec(t, r.kind)
		if m, ok := malformations[name]; ok {
			m.spoil(spec, r.kind.ReplicaSpecsField, leads(r.kind))
		}
		job := map[string]any{"apiVersion": r.kind.APIVersion(), "kind": r.kind.Name, "metadata": map[string]any{"name": name}, "spec": spec}
		await(t, "job "+name+" to be stored", func() (bool, string) { // the API server may still know the subresource
			_, err := r.jobs(ns).Create(context.Background(), &unstructured.Unstructured{Object: job}, metav1.CreateOptions{})
			return err == nil, fmt.Sprint(err)
		})
	}
}

// besideEndsWell: the healthy job succeeds, and the malformed ones are reported.
func (r *rig) besideEndsWell(t *testing.T) {
	t.Helper()
	ns := r.besideSpace()
	r.awaitState(t, ns, "healthy", training.Succeeded)
	for name, m := range malformations {
		path := strings.NewReplacer("ROLES", r.kind.ReplicaSpecsField, "ROLE", leads(r.kind)).Replace(m.path)
		head := r.awaitRejected(t, ns, name)
		if message := head.Status.Condition(training.Failed).Message; !strings.Contains(message, path+": found ") {
			t.Errorf("%s %s: the condition says %s, not %s", r.kind.Name, name, message, path)
		}
		r.awaitEvent(t, ns, name, func(e event) bool {
			return e.Type == "Warning" && e.Reason == r.kind.Name+"FailedValidation" && e.Path == path && strings.HasPrefix(e.Message, path+": found ") && strings.Contains(e.Message, "must ")
		})
		if pods := r.pods(t, ns, name); len(pods) > 0 {
			t.Errorf("%s %s has pods: %v", r.kind.Name, name, pods)
		}
	}
}

// besideIsQuiet: the operator is still the process that was started, has sent few requests, and sends no more.
func besideIsQuiet(t *testing.T, r *rig, p *process, served []*training.Kind) {
	t.Helper()
	if n, _ := p.metric(t, "training_operator_panics_total"); n != 0 || !p.Alive() || p.Probe(t.Context(), "/healthz") != http.StatusOK {
		t.Errorf("%v reconciles panicked; the operator is alive: %v", n, p.Alive())
	}
	await(t, "all keys and events to be worked off", func() (bool, string) {
		keys, _ := p.metric(t, "workqueue_depth")
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds")
		events, _ := p.metric(t, "training_operator_events_backlog")
		return keys == 0 && busy == 0 && events == 0, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
	})
	before := r.requests(t)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond) // absence cannot be awaited, only watched for a while
	}
	after := r.requests(t)
	for _, q := range writes(after)[len(writes(before)):] {
		t.Errorf("a write while nothing was going on: %s %s", q.Verb, q.RequestURI)
	}
	for _, k := range served {
		statuses, reads, reported := map[string]int{}, 0, 0
		for _, q := range after {
			ref := q.ObjectRef
			switch {
			case ref.Resource == k.Plural && (q.Verb == "get" || q.Verb == "list" || q.Verb == "watch"):
				reads++
			case ref.Namespace != r.of(k).besideSpace():
			case ref.Resource == "events":
				reported++
			case ref.Resource == k.Plural && ref.Name != "healthy":
				statuses[ref.Name]++
			}
		}
		for name := range malformations {
			if statuses[name] != 1 {
				t.Errorf("%s %s: %d writes, want one, of its status", k.Name, name, statuses[name])
			}
		}
		// A list and a watch, and again if the watch has ended; one event for each mistake, and those of the healthy job.
		if most := len(malformations) + 5; reads > 4 || reported > most || reported < len(malformations) {
			t.Errorf("%s was read %d times, and %d events were sent, want at most 4 and %d", k.Name, reads, reported, most)
		}
	}
	nothingIsForbidden(t, r)
}
