package convert

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"stoic/schema"
)

// many returns a list of values.
func many(n int, one func(i int) any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = one(i)
	}
	return all
}

// TestFaultSizes: large objects are converted like any other. TestBudgetWorst bounds what that costs.
func TestFaultSizes(t *testing.T) {
	hold(t, faultSizes())
}

// faultSizes returns changes that make an object large, or that ask for many replicas.
func faultSizes() []fault {
	variable := func(i int) any { return map[string]any{"name": fmt.Sprint("A", i), "value": named(200)} }
	mount := func(i int) any { return map[string]any{"name": fmt.Sprint("v", i), "mountPath": fmt.Sprint("/", i)} }
	manyFields := func(n int, prefix string) map[string]any {
		all := map[string]any{}
		for i := range n {
			all[fmt.Sprint(prefix, i)] = "x"
		}
		return all
	}
	mistakes := make([]string, reportLimit)
	for i := range mistakes {
		mistakes[i] = fmt.Sprintf("%s %s.args[%d]", schema.TypeMismatch, inContainer, i)
	}
	first := reject(schema.InvalidValue, "spec") + "\n" + strings.Join(mistakes, "\n")
	return []fault{
		{"500 variables", change{inContainer + ".env": many(500, variable)}, run},
		{"1,000 containers", change{inPod + ".containers": append([]any{sane("tensorflow")}, many(1000, func(i int) any { return sane(fmt.Sprint("a", i)) })...)}, run},
		{"1,000 volumes, all mounted", change{inPod + ".volumes": many(1000, func(i int) any { return map[string]any{"name": fmt.Sprint("v", i)} }),
			inContainer + ".volumeMounts": many(1000, mount)}, run},
		{"a mount of none of 1,000 volumes", change{inPod + ".volumes": many(1000, func(i int) any { return map[string]any{"name": fmt.Sprint("v", i)} }),
			inContainer + ".volumeMounts": []any{map[string]any{"name": "w777", "mountPath": "/a"}}}, reject(schema.InvalidValue, inContainer+".volumeMounts[0].name")},
		{"5,000 labels", change{inTemplate + ".metadata.labels": manyFields(5000, "l")}, run},
		{"10,000 fields that nobody knows, below one", change{inPod + ".future": manyFields(10000, "f")}, warn(schema.UnknownField, inPod+".future")},
		{"a template of 256 KiB", change{inContainer + ".command": []any{"a"}, inContainer + ".args": []any{named(256 << 10)}}, run},
		{"an image of 256 KiB", change{inContainer + ".image": named(256 << 10)}, run},
		{"a status of 2,000 conditions", change{"status": map[string]any{"conditions": many(2000, func(int) any { return map[string]any{"type": named(20), "status": "True"} })}}, run},
		{"5,000 mistakes", change{inContainer + ".args": many(5000, func(i int) any { return int64(i) })}, first},
		{"20,000 replicas that need no long variable", change{inWorker + ".replicas": int64(20000), "spec.enableDynamicWorker": true}, run},
		{"20,000 replicas", change{inWorker + ".replicas": int64(20000)}, reject(schema.TooLarge, inReplicaSpecs)},
		{"one replica more", change{inWorker + ".replicas": int64(20001)}, reject(schema.OutOfRange, inWorker+".replicas")},
		{"replicas beyond all measure", change{inWorker + ".replicas": int64(math.MaxInt64)}, reject(schema.OutOfRange, inWorker+".replicas")},
	}
}

// TestFaultEnvironment: a variable that is too long for Linux is reported, in both of its forms, and one that just fits
// is not.
func TestFaultEnvironment(t *testing.T) {
	large := func(ps int64, dynamic bool) change {
		return change{inReplicaSpecs + ".PS": replicaSpec(), inReplicaSpecs + ".PS.replicas": ps, "spec.enableDynamicWorker": dynamic}
	}
	tooLarge := reject(schema.TooLarge, inReplicaSpecs)
	hold(t, []fault{
		{"dense, fits", large(4000, false), run},
		{"dense, does not fit", large(5000, false), tooLarge},
		{"sparse, fits", large(4000, true), run},
		{"sparse, does not fit: a worker sees all parameter servers", large(5000, true), tooLarge},
	})
}
