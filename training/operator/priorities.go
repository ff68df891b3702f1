package operator

import (
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/watch"
	"stoic/training"
)

// readPriorities returns a Read that makes the PriorityClasses of the cluster available to plans.
func readPriorities() *watch.Read {
	return &watch.Read{Resource: training.PriorityClasses(), Slim: slimPriority}
}

// slimPriority returns the cached state of a PriorityClass. It accepts any content: an API server of another version may send it.
func slimPriority(u *unstructured.Unstructured) any {
	value, _ := u.Object["value"].(int64)
	p := training.PriorityState{Value: int32(min(max(value, math.MinInt32), math.MaxInt32))}
	p.GlobalDefault, _ = u.Object["globalDefault"].(bool)
	return p
}
