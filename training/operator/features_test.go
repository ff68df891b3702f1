package operator

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// feature is a feature that every kind has, unless has excludes it.
type feature struct {
	policy  map[string]any // members of spec.runPolicy
	spec    map[string]any // further members of spec
	status  map[string]any
	ledger  string
	failed  bool // the first worker has failed, with an exit code that is retried where the kind does that
	cluster training.Cluster
	// grown: shown gets everything that is created until nothing is missing. Each pod runs as soon as it is created.
	grown bool
	// has reports whether the kind has the feature; nil: all do.
	has func(*training.Kind) bool
	// shown returns what is wrong with the plan, or "".
	shown func(*training.Kind, schema.Plan) string
}

// features returns the features that training-operator documents for all kinds.
func features() map[string]feature {
	running := map[string]any{"startTime": "2026-01-02T02:00:00Z", "conditions": []any{happened("Created"), happened("Running")}}
	over := map[string]any{"startTime": "2026-01-02T02:00:00Z", "completionTime": "2026-01-02T02:30:00Z",
		"conditions": []any{happened("Created"), happened("Succeeded")}}
	autoscaled := func(k *training.Kind) bool { return slices.Contains(k.DependentKinds, training.Autoscalers()) }
	return map[string]feature{
		"runs": {shown: func(_ *training.Kind, p schema.Plan) string {
			return is(len(p.Create) > 0 && conditionOf(p, training.Created), "nothing is created")
		}},
		"suspend": {policy: map[string]any{"suspend": true}, shown: func(_ *training.Kind, p schema.Plan) string {
			return is(conditionOf(p, training.Suspended) && len(bodiesOf(p, "Pod")) == 0, "pods, or not Suspended")
		}},
		"managedBy": {policy: map[string]any{"managedBy": "kueue.x-k8s.io/multikueue"}, shown: func(_ *training.Kind, p schema.Plan) string {
			return is(p.Status == nil && len(p.Create)+len(p.Delete)+len(p.Patch) == 0, "something is written")
		}},
		"ttlSecondsAfterFinished": {policy: map[string]any{"ttlSecondsAfterFinished": int64(5)}, status: over, shown: func(k *training.Kind, p schema.Plan) string {
			return is(slices.ContainsFunc(p.Delete, func(d schema.Deletion) bool { return d.Resource == k.Resource() && d.ResourceVersion != "" }), "the job is not deleted")
		}},
		"activeDeadlineSeconds": {policy: map[string]any{"activeDeadlineSeconds": int64(10)}, status: running, shown: fails(`"activeDeadlineSeconds":10`)},
		"backoffLimit": {policy: map[string]any{"backoffLimit": int64(2)}, status: running, ledger: `{"job":"u","restarts":2}`, failed: true,
			shown: fails(`"backoffLimit":2`)},
		"gang": {cluster: training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}, shown: func(_ *training.Kind, p schema.Plan) string {
			return is(len(bodiesOf(p, "PodGroup")) == 1 && len(bodiesOf(p, "Pod")) == 0, "no group, or pods before it")
		}},
		"native gang": {cluster: training.Cluster{Gang: training.Gang{Native: true}}, grown: true, shown: func(_ *training.Kind, p schema.Plan) string {
			members := append(bodiesOf(p, "Pod"), bodiesOf(p, "Job")...)
			outside := func(body string) bool { return !strings.Contains(body, `"schedulingGroup":{"podGroupName":"pi"}`) }
			return is(p.Create[0].Resource.Kind == "Workload" && p.Create[1].Resource.Kind == "PodGroup" && len(members) >= 2 && !slices.ContainsFunc(members, outside),
				"no group before the pods, or a pod outside it")
		}},
		"elasticPolicy": {spec: map[string]any{"elasticPolicy": map[string]any{"minReplicas": int64(1), "maxReplicas": int64(3), "metrics": []any{map[string]any{
			"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}}}},
			has: autoscaled, shown: func(_ *training.Kind, p schema.Plan) string {
				return is(len(bodiesOf(p, "HorizontalPodAutoscaler")) == 1, "no autoscaler")
			}},
	}
}

// fails returns a check that the job has failed or, for a kind whose launcher is a batch/v1 Job, that the Job has the limit.
func fails(limit string) func(*training.Kind, schema.Plan) string {
	return func(k *training.Kind, p schema.Plan) string {
		if slices.ContainsFunc(k.ReplicaTypes, func(r training.KnownReplicaType) bool { return r.Batch }) {
			return is(slices.ContainsFunc(bodiesOf(p, "Job"), func(body string) bool { return strings.Contains(body, limit) }), "the Job has not the limit "+limit)
		}
		return is(conditionOf(p, training.Failed), "the job has not failed")
	}
}

// TestFeatures: each kind has each feature, or rejects the field that requests it, or warns about it.
func TestFeatures(t *testing.T) {
	for _, kind := range kinds.Served() {
		for name, f := range features() {
			t.Run(kind.APIVersion()+" "+kind.Name+"/"+name, func(t *testing.T) {
				kind := kind.In(f.cluster)
				watch := Watches([]*training.Kind{kind}, nil)[0]
				result := watch.Convert(f.job(kind))
				if f.has != nil && !f.has(kind) {
					warned := slices.ContainsFunc(result.Head.Warnings, func(p schema.Problem) bool { return p.Path == "spec."+name })
					if !warned {
						t.Errorf("%s has it not, and nobody is warned: %+v", kind.Name, result.Rejection)
					}
					return
				}
				if result.Rejection != nil {
					t.Fatalf("rejected: %v", result.Rejection.Problems)
				}
				seen := schema.Observed{Now: now, KeepsGeneration: true, Head: result.Head, Object: result.Object}
				for _, owned := range watch.Owns {
					absent := training.IsNative(owned.Resource) && owned.Resource.Version != "v1alpha2"
					seen.Children = append(seen.Children, schema.Children{Resource: owned.Resource, Unknown: absent, Absent: absent})
				}
				for _, read := range watch.Reads {
					seen.Reads = append(seen.Reads, schema.Children{Resource: read.Resource})
				}
				if f.failed {
					seen.Children[0].Items = []schema.Child{childOf(t, failedWorker(kind), 0, watch.Owns[0].Slim, watch.Owns[0].SlimTyped)}
				}
				p := watch.Decide(seen)
				for rounds, next := 0, p; f.grown && len(next.Create) > 0; p.Create = append(p.Create, next.Create...) {
					if rounds++; rounds > 5 {
						t.Fatalf("something is created again and again:\n%s", described(next))
					}
					for _, o := range next.Create {
						made := parsed(t, string(o.Body))
						made.SetOwnerReferences(nil) // it is the job's own: see childOf
						made.Object["status"] = map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
						for i, owned := range watch.Owns {
							if owned.Resource == o.Resource {
								seen.Children[i].Items = append(seen.Children[i].Items, childOf(t, made, len(p.Create), owned.Slim, owned.SlimTyped))
							}
						}
					}
					next = watch.Decide(seen)
				}
				if wrong := f.shown(kind, p); wrong != "" {
					t.Errorf("%s:\n%s", wrong, described(p))
				}
			})
		}
	}
}

// job returns a job of a kind that uses the feature: one replica of each required type, two workers.
func (f feature) job(kind *training.Kind) *unstructured.Unstructured {
	rtypes := map[string]any{}
	for _, rtype := range kind.ReplicaTypes {
		if !rtype.Required && rtype.Name != "Worker" {
			continue
		}
		spec := map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": cmp.Or(kind.Container, "main"), "image": "i"}}}}}
		if rtype.Name == "Worker" {
			spec["replicas"] = int64(2)
		}
		if f.failed && kind.RestartPolicies == nil {
			spec["restartPolicy"] = string(training.RestartExitCode)
		}
		rtypes[rtype.Name] = spec
	}
	spec := map[string]any{kind.ReplicaSpecsField: rtypes}
	for member, value := range f.spec {
		spec[member] = value
	}
	if f.policy != nil {
		spec["runPolicy"] = f.policy
	}
	meta := map[string]any{"name": "pi", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(1), "creationTimestamp": "2026-01-02T02:00:00Z"}
	if f.ledger != "" {
		meta["annotations"] = map[string]any{training.AnnotationLedger: f.ledger}
	}
	object := map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": meta, "spec": spec}
	if f.status != nil {
		object["status"] = f.status
	}
	return (&unstructured.Unstructured{Object: object}).DeepCopy()
}

func failedWorker(kind *training.Kind) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"kind": "Pod",
		"metadata": map[string]any{"name": "pi-worker-0", "labels": map[string]any{training.LabelReplicaType: "worker", training.LabelReplicaIndex: "0"}},
		"status": map[string]any{"phase": "Failed", "containerStatuses": []any{map[string]any{"name": cmp.Or(kind.Container, "main"),
			"state": map[string]any{"terminated": map[string]any{"exitCode": int64(137)}}}}}}}
}

func happened(of string) any {
	return map[string]any{"type": of, "status": "True", "lastTransitionTime": "2026-01-02T02:00:00Z", "lastUpdateTime": "2026-01-02T02:00:00Z"}
}

// conditionOf reports whether the condition is True in the planned status.
func conditionOf(p schema.Plan, of training.ConditionType) bool {
	status, ok := p.Status.(*training.Status)
	return ok && slices.ContainsFunc(status.Conditions, func(c training.Condition) bool { return c.Type == of && c.Status == "True" })
}

// bodiesOf returns the bodies of the objects of a kind that a plan creates.
func bodiesOf(p schema.Plan, kind string) (bodies []string) {
	for _, o := range p.Create {
		if o.Resource.Kind == kind {
			bodies = append(bodies, string(o.Body))
		}
	}
	return bodies
}

// is returns "" if well is true.
func is(well bool, otherwise string) string {
	if well {
		return ""
	}
	return otherwise
}
