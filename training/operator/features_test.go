package operator

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/kinds"
)

// feature is a feature that every kind has, unless has excludes it. Features of which the stored status is the proof are states: see
// TestStoredStates.
type feature struct {
	policy  map[string]any // members of spec.runPolicy
	spec    map[string]any // further members of spec
	cluster training.Cluster
	has     func(*training.Kind) bool // nil: all do
	// do acts after the submission, and shown reports whether the feature had its effect.
	do    func(*plane)
	shown func(*plane) bool
}

// features returns the features that training-operator documents for all kinds.
func features() map[string]feature {
	run := func(p *plane) {
		p.settle()
		p.run()
	}
	autoscaled := func(k *training.Kind) bool { return slices.Contains(k.DependentKinds, training.Autoscalers()) }
	metrics := []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}}
	return map[string]feature{
		"suspend": {policy: map[string]any{"suspend": true}, do: (*plane).settle, shown: func(p *plane) bool {
			return p.status().Is(training.Suspended) && len(p.pods()) == 0
		}},
		"managedBy": {policy: map[string]any{"managedBy": training.ManagedByMultiKueue}, do: (*plane).settle, shown: func(p *plane) bool {
			return p.stored()["status"] == nil && len(p.pods()) == 0
		}},
		"ttlSecondsAfterFinished": {policy: map[string]any{"ttlSecondsAfterFinished": int64(5)},
			do: func(p *plane) {
				run(p)
				p.succeed()
				p.wait(time.Minute)
				p.reconcile()
			},
			shown: func(p *plane) bool { return p.model.Object(p.kind.Plural, "ns", "pi") == nil },
		},
		"activeDeadlineSeconds": {policy: map[string]any{"activeDeadlineSeconds": int64(10)},
			do: func(p *plane) {
				run(p)
				p.wait(time.Minute)
				p.settle()
			},
			shown: func(p *plane) bool {
				return p.status().Is(training.Failed) || batchLimit(p, "activeDeadlineSeconds") == int64(10)
			},
		},
		"backoffLimit": {policy: map[string]any{"backoffLimit": int64(0)},
			do: func(p *plane) {
				run(p)
				p.exits(p.pods()[0], 137)
				p.settle()
			},
			shown: func(p *plane) bool {
				return p.status().Is(training.Failed) || batchLimit(p, "backoffLimit") == int64(0)
			},
		},
		"gang": {cluster: training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}, do: (*plane).settle, shown: func(p *plane) bool {
			return len(p.model.Objects("podgroups")) == 1 && len(p.pods()) == 0
		}},
		"elasticPolicy": {spec: map[string]any{"elasticPolicy": map[string]any{"minReplicas": int64(1), "maxReplicas": int64(3), "metrics": metrics}},
			has: autoscaled, do: (*plane).settle, shown: func(p *plane) bool { return len(p.model.Objects("horizontalpodautoscalers")) == 1 }},
	}
}

// batchLimit returns a limit of the Job that runs a launcher, or nil.
func batchLimit(p *plane, field string) any {
	for _, job := range p.model.Objects("jobs") {
		return apimodel.Get(job, "spec", field)
	}
	return nil
}

// TestFeatures: each kind has each feature, or warns about the field that asks for it.
func TestFeatures(t *testing.T) {
	for _, kind := range kinds.Served() {
		for name, f := range features() {
			t.Run(kind.APIVersion()+" "+kind.Name+"/"+name, func(t *testing.T) {
				p := newPlane(t, kind.In(f.cluster))
				p.submitWith(f.policy, f.spec)
				if f.has != nil && !f.has(kind) {
					warnings := p.watch.Convert(&unstructured.Unstructured{Object: p.stored()}).Head.Warnings
					if !slices.ContainsFunc(warnings, func(w schema.Problem) bool { return w.Path == "spec."+name }) {
						t.Errorf("%s has it not, and nobody is warned: %v", kind.Name, warnings)
					}
					return
				}
				if f.do(p); !f.shown(p) {
					t.Errorf("it has no effect: %v, %d pods", p.stored()["status"], len(p.pods()))
				}
			})
		}
	}
}
