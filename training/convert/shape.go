package convert

import (
	"math"
	"reflect"
	"strings"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"stoic/convert"
	"stoic/training"
)

// shapes are the shapes of the types in jobs.
var shapes = convert.NewShapes(ofJobs()...)

// objects caches the shape of the objects of each kind. Only kinds that are compiled in get here, so it does not grow.
var objects sync.Map

// ofJobs returns the rules of the types that all kinds share.
func ofJobs() []convert.Rule {
	return []convert.Rule{
		convert.Span[training.RunPolicySpec](0, math.MaxInt32, "ttlSecondsAfterFinished", "backoffLimit"),
		convert.Span[training.RunPolicySpec](0, math.MaxInt64, "activeDeadlineSeconds"),
		convert.Span[training.SchedulingPolicySpec](0, math.MaxInt32, "minAvailable", "scheduleTimeoutSeconds"),
		convert.Span[training.ReplicaSpec](0, training.MaxReplicas, "replicas"),
		convert.Choice[training.RunPolicySpec]("cleanPodPolicy", training.CleanPodPolicies()...),
		convert.Choice[training.ReplicaSpec]("restartPolicy", training.RestartPolicies()...),
		convert.Advise[training.ReplicaSpec](specOfTemplate),
		convert.On[corev1.PodTemplateSpec](limitToTemplate),
		convert.And[autoscalingv2.MetricSpec](metricType), // must specify a metric source type
	}
}

// specOfTemplate suppresses the problem of a spec beside a missing template: the problem of the template mentions it.
func specOfTemplate(rtype map[string]any, key string) convert.Advice {
	_, ok := rtype["spec"].(map[string]any)
	return convert.Advice{Silent: key == "spec" && ok && rtype["template"] == nil}
}

// limitToTemplate changes the shape of a pod template to what is used of it: it is kept as the user wrote
// it and never decoded, and only three fields of its metadata reach the pod. Its restart policy does not.
func limitToTemplate(template *convert.Shape) {
	meta := template.Field("metadata").Clone()
	for _, name := range meta.Names() {
		switch name {
		case "labels", "annotations", "finalizers":
		case "name", "generateName":
			meta.Set(name, convert.Useless("it is ignored, pods are named after the job"))
		case "namespace":
			meta.Set(name, convert.Useless("it is ignored, pods run in the namespace of the job"))
		default:
			meta.Set(name, convert.Useless("it is ignored, only `labels`, `annotations` and `finalizers` reach the pods"))
		}
	}
	template.Set("metadata", meta)
	spec := template.Field("spec").Clone()
	spec.Set("restartPolicy", convert.Ignored())
	template.Set("spec", spec)
	template.Keep("spec")
}

// objectOf returns the shape of a whole object of a kind. Its spec holds the run policy, the replica types, and the
// fields that only this kind has; the latter are decoded into the result of Kind.Options.
func objectOf(kind *training.Kind) *convert.Shape {
	if known, ok := objects.Load(kind); ok {
		return known.(*convert.Shape)
	}
	spec := convert.ObjectOf(nil)
	if t := reflect.TypeOf(kind.Options()); t != nil {
		spec.Join(shapes.Of(t))
	}
	spec.Set("runPolicy", shapes.Of(reflect.TypeFor[training.RunPolicySpec]()))
	spec.Set(kind.ReplicaSpecsField, convert.MapOf(shapes.Of(reflect.TypeFor[training.ReplicaSpec]())))
	spec.Advise(func(_ map[string]any, key string) convert.Advice {
		switch {
		case kind.ReplicaType(key) != nil:
			return convert.Advice{In: kind.ReplicaSpecsField}
		case replicaTypesOfAnotherKind(key):
			return convert.Advice{Hint: kind.Name + "s have `" + kind.ReplicaSpecsField + "`"}
		}
		return convert.Advice{}
	})
	built, _ := objects.LoadOrStore(kind, convert.WholeOf(spec))
	return built.(*convert.Shape)
}

// replicaTypesOfAnotherKind reports whether a field has replica types of another kind: pytorchReplicaSpecs in a TFJob, or replicaSpecs.
func replicaTypesOfAnotherKind(key string) bool {
	return len(key) <= convert.MaxKey && strings.HasSuffix(strings.ToLower(key), "replicaspecs")
}
