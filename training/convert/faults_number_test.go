package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/untyped"
	"stoic/training"
)

// numbers returns numbers at which arithmetic may fail, in every form in which an object may contain them.
func numbers() []any {
	var all []any
	for _, i := range []int64{math.MinInt64, math.MinInt32 - 1, math.MinInt32, -1, 0, 1, 2, 20000, 20001, 65535, 65536, math.MaxInt32, 1 << 31,
		1 << 32, 1<<32 + 1, 9223372037, 1 << 53, math.MaxInt64} {
		all = append(all, i, float64(i), json.Number(fmt.Sprint(i)))
	}
	return append(all, 1e308, -1e308, 1.5, -0.5, 5e-324, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), float64(1<<63), uint64(math.MaxUint64),
		json.Number("1.0"), json.Number("1e2"), json.Number("1e308"), json.Number("1e309"), json.Number("-9223372036854775809"), json.Number("NaN"),
		json.Number("Infinity"), json.Number(""), json.Number("0x10"), json.Number(strings.Repeat("9", 1000)))
}

// codeOf returns the problem of a number in a field for integers from least to most.
func codeOf(raw any, least, most int64) schema.Code {
	switch v := raw.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return codeOf(i, least, most)
		}
		f, err := v.Float64()
		if err != nil {
			return schema.TypeMismatch
		}
		return codeOf(f, least, most)
	case uint64:
		return codeOf(float64(v), least, most)
	case float64:
		switch {
		case v != math.Trunc(v), math.IsInf(v, 0):
			return schema.TypeMismatch
		case v < -(1 << 63), v >= 1<<63:
			return schema.OutOfRange
		}
		return codeOf(int64(v), least, most)
	case int64:
		if v < least || v > most {
			return schema.OutOfRange
		}
	}
	return ""
}

// TestFaultNumbers puts every number into every numeric field.
func TestFaultNumbers(t *testing.T) {
	for _, c := range []struct {
		place       string
		least, most int64
	}{
		{inPolicy + ".ttlSecondsAfterFinished", 0, math.MaxInt32},
		{inPolicy + ".activeDeadlineSeconds", 0, math.MaxInt64},
		{inPolicy + ".backoffLimit", 0, math.MaxInt32},
		{inPolicy + ".schedulingPolicy.minAvailable", 0, math.MaxInt32},
		{inPolicy + ".schedulingPolicy.scheduleTimeoutSeconds", 0, math.MaxInt32},
		{inReplicaSpecs + ".PS.replicas", 0, training.MaxReplicas},
		{inContainer + ".ports[0].containerPort", 1, 65535},
		{inContainer + ".ports[0].hostPort", 0, 65535},
		{inPod + ".activeDeadlineSeconds", 1, math.MaxInt32},
		{inPod + ".securityContext.runAsUser", 0, math.MaxInt32},
		{inPod + ".securityContext.fsGroup", 0, math.MaxInt32},
		{inPod + ".securityContext.supplementalGroups[0]", 0, math.MaxInt32},
		{inContainer + ".securityContext.runAsGroup", 0, math.MaxInt32},
		{inPod + ".topologySpreadConstraints[0].maxSkew", 1, math.MaxInt32},
		{inPod + ".affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", 1, 100},
		{inContainer + ".livenessProbe.periodSeconds", 0, math.MaxInt32},
		{inContainer + ".livenessProbe.terminationGracePeriodSeconds", 1, math.MaxInt64},
		{inContainer + ".readinessProbe.grpc.port", 1, 65535},
		{inContainer + ".livenessProbe.httpGet.port", 1, 65535}, // an integer or a string
		{inPod + ".volumes[0].configMap.defaultMode", 0, 0o777},
		{inPod + ".volumes[0].configMap.items[0].mode", 0, 0o777},
		{inPod + ".volumes[1].projected.sources[0].serviceAccountToken.expirationSeconds", 600, 1 << 32},
		// For the pod's other numbers the converter only checks the type; the API server checks the range.
		{inPod + ".terminationGracePeriodSeconds", math.MinInt64, math.MaxInt64},
		{inPod + ".priority", math.MinInt32, math.MaxInt32},
		{inPod + ".tolerations[0].tolerationSeconds", math.MinInt64, math.MaxInt64},
	} {
		t.Run(c.place, func(t *testing.T) {
			for _, n := range numbers() {
				raw := numbered(t)
				put(t, raw, c.place, n)
				want := run
				if code := codeOf(n, c.least, c.most); code != "" {
					want = reject(code, c.place)
				}
				result := check(t, raw)
				if strings.HasSuffix(c.place, ".minAvailable") && result.Job != nil && result.Job.Policy.Scheduling.MinAvailable.Value > int64(result.Job.Replicas()) {
					want = warn(schema.Conflict, c.place)
				}
				if got := outcome(result); got != want && !tooManyInAll(c.place, n, got) {
					t.Errorf("%T %.40v: got %s\nwant %s", n, n, got, want)
				}
			}
		})
	}
}

// tooManyInAll: 20000 parameter servers are in range, but not together with a worker.
func tooManyInAll(place string, n any, got string) bool {
	i, _ := convert.IntegerOf(n)
	return place == inReplicaSpecs+".PS.replicas" && i == training.MaxReplicas && got == reject(schema.ReplicaCount, inReplicaSpecs)
}

// numbered returns a valid object with all fields that the numbers are put into.
func numbered(t *testing.T) map[string]any {
	raw := sound(t)
	pod := at(t, raw, "spec", "tfReplicaSpecs", "Worker", "template", "spec")
	put(t, raw, inReplicaSpecs+".PS.template.spec", untyped.Clone(pod))
	put(t, raw, "spec.enableDynamicWorker", true) // no TF_CONFIG that is too long
	put(t, raw, inContainer+".ports[0].containerPort", int64(80))
	put(t, raw, inContainer+".livenessProbe.httpGet.port", int64(80))
	put(t, raw, inContainer+".readinessProbe.grpc.port", int64(80))
	put(t, raw, inPod+".volumes[0]", map[string]any{"name": "a", "configMap": map[string]any{"name": "a", "items": []any{map[string]any{"key": "a", "path": "a"}}}})
	put(t, raw, inPod+".volumes[1]", map[string]any{"name": "b", "projected": map[string]any{"sources": []any{
		map[string]any{"serviceAccountToken": map[string]any{"path": "token"}}}}})
	put(t, raw, inPod+".tolerations[0]", map[string]any{"operator": "Exists", "effect": "NoExecute"})
	put(t, raw, inPod+".topologySpreadConstraints[0]", map[string]any{"maxSkew": int64(1), "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"})
	put(t, raw, inPod+".affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]", map[string]any{
		"weight": int64(1), "podAffinityTerm": map[string]any{"topologyKey": "zone"}})
	return raw
}

// TestFaultReplicas: the sum over all replica types never overflows.
func TestFaultReplicas(t *testing.T) {
	for _, c := range []struct {
		evaluator, worker int64
		want              string
	}{
		{0, 0, reject(schema.ReplicaCount, inReplicaSpecs)},
		{0, 1, run},
		{1, 0, warn(schema.Conflict, inReplicaSpecs)},
		{10000, 10000, run},
		{10000, 10001, reject(schema.ReplicaCount, inReplicaSpecs)},
		{20000, 20000, reject(schema.ReplicaCount, inReplicaSpecs)},
		{-1, 1, reject(schema.OutOfRange, inReplicaSpecs+".Evaluator.replicas")},
		{1 << 31, 1 << 31, also(reject(schema.OutOfRange, inReplicaSpecs+".Evaluator.replicas"), schema.OutOfRange, inWorker+".replicas")},
		{math.MaxInt32, math.MaxInt32, also(reject(schema.OutOfRange, inReplicaSpecs+".Evaluator.replicas"), schema.OutOfRange, inWorker+".replicas")},
		{math.MinInt64, math.MaxInt64, also(reject(schema.OutOfRange, inReplicaSpecs+".Evaluator.replicas"), schema.OutOfRange, inWorker+".replicas")},
	} {
		raw := numbered(t)
		put(t, raw, inReplicaSpecs+".PS", untyped.Missing{}) // each of which is in the environment of each worker
		put(t, raw, inReplicaSpecs+".Evaluator", replicaSpec())
		put(t, raw, inReplicaSpecs+".Evaluator.replicas", c.evaluator)
		put(t, raw, inWorker+".replicas", c.worker)
		if got := outcome(check(t, raw)); got != c.want {
			t.Errorf("%d and %d: got %s\nwant %s", c.evaluator, c.worker, got, c.want)
		}
	}
}
