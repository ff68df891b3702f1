package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// reported: a condition says so while a job is rejected, and each rejected generation has one Warning event for each malformed path.
func (c *Case) reported() (found []string) {
	if len(c.Limits.Paths) == 0 {
		return nil
	}
	rejected := map[string]bool{}
	for uid, versions := range c.Objects {
		for _, v := range versions {
			if history.Is(v.Object, "Stalled") {
				generation, _, _ := unstructured.NestedInt64(v.Object.Object, "status", "observedGeneration")
				if generation <= v.Object.GetGeneration() { // else another client wrote it
					rejected[fmt.Sprint(uid, generation)] = true
				}
			}
		}
	}
	if len(rejected) == 0 {
		return []string{"no condition ever said that the job is rejected"}
	}
	events := map[string]map[types.UID]int64{}
	for _, v := range c.Versions {
		kind, _, _ := unstructured.NestedString(v.Object.Object, "type")
		reason, _, _ := unstructured.NestedString(v.Object.Object, "reason")
		if v.Resource.Resource != "events" || kind != "Warning" || !strings.HasSuffix(reason, "FailedValidation") {
			continue
		}
		path, _, _ := unstructured.NestedString(v.Object.Object, "involvedObject", "fieldPath")
		count, _, _ := unstructured.NestedInt64(v.Object.Object, "count")
		if events[path] == nil {
			events[path] = map[types.UID]int64{}
		}
		events[path][v.Object.GetUID()] = max(count, 1)
	}
	for _, path := range c.Limits.Paths {
		var n int64
		for _, count := range events[path] {
			n += count
		}
		if n != int64(len(rejected)) {
			found = append(found, fmt.Sprintf("%s was told %d times, want %d; told were %v", path, n, len(rejected), slices.Sorted(maps.Keys(events))))
		}
	}
	return found
}

// Quantile returns the duration that the given part of them does not exceed.
func Quantile(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}
