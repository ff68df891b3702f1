package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"stoic/test/untyped"
	"stoic/training/kinds"
)

// manyBytes is a sixth of the largest object that an API server stores: enough to tell what is not proportional to the size.
const manyBytes = 256 << 10

// worst returns objects of that size, or with thousands of problems, each with very many values of one sort.
func worst(t testing.TB) map[string]map[string]any {
	huge := strings.Repeat("x", manyBytes)
	objects := worstOfKinds(t)
	for name, change := range map[string]func(template, spec, container map[string]any){
		"one argument":                        func(_, _, c map[string]any) { c["args"] = []any{huge} },
		"one argument that is not UTF-8":      func(_, _, c map[string]any) { c["args"] = []any{strings.Repeat("\xff", manyBytes)} },
		"arguments that are one string":       func(_, _, c map[string]any) { c["args"] = huge },
		"a name":                              func(_, _, c map[string]any) { c["name"] = huge },
		"the name of a field":                 func(_, _, c map[string]any) { c[huge] = "x" },
		"a quantity":                          func(_, _, c map[string]any) { c["resources"] = limits("cpu", strings.Repeat("1", manyBytes)) },
		"the name of a resource":              func(_, _, c map[string]any) { c["resources"] = limits(huge, "1") },
		"variables":                           func(_, _, c map[string]any) { c["env"] = variables("1") },
		"variables that are numbers":          func(_, _, c map[string]any) { c["env"] = variables(int64(1)) },
		"arguments that are numbers":          func(_, _, c map[string]any) { c["args"] = items(10_000, func(i int) any { return int64(i) }) },
		"fields that are unknown":             func(_, _, c map[string]any) { maps.Copy(c, keyed(10_000, "x")) },
		"a field that is unknown and deep":    func(_, s, _ map[string]any) { s["future"] = untyped.Nested(manyBytes / 10) },
		"a field that is unknown and wide":    func(_, s, _ map[string]any) { s["future"] = keyed(7_000, []any{int64(1), "x"}) },
		"labels":                              func(p, _, _ map[string]any) { p["metadata"] = map[string]any{"labels": keyed(10_000, "x")} },
		"labels that are numbers":             func(p, _, _ map[string]any) { p["metadata"] = map[string]any{"labels": keyed(10_000, int64(1))} },
		"annotations":                         func(p, _, _ map[string]any) { p["metadata"] = map[string]any{"annotations": keyed(10_000, "x")} },
		"containers whose names nearly train": func(_, s, _ map[string]any) { s["containers"] = containers() },
		"mounts of volumes that nearly exist": mounts,
		"host ports beside the kind's":        hostPorts,
		"ports":                               ports,
	} {
		u := largeJob(t).Object
		rtype := within(u, "spec", "tfReplicaSpecs", "Worker", "template")
		spec := within(rtype, "spec")
		container, _ := spec["containers"].([]any)[0].(map[string]any)
		change(rtype, spec, container)
		objects[name] = u
	}
	for name, change := range map[string]func(spec, policy map[string]any){
		"elastic, a host":    func(_, p map[string]any) { p["rdzvHost"] = huge },
		"elastic, processes": func(s, _ map[string]any) { s["nprocPerNode"] = huge },
		"elastic, settings":  func(_, p map[string]any) { p["rdzvConf"] = settings(manyBytes / 30) },
		"elastic, empty settings": func(_, p map[string]any) {
			p["rdzvConf"] = items(manyBytes/3, func(int) any { return map[string]any{} })
		},
		"elastic, settings of others": func(_, p map[string]any) {
			p["rdzvConf"] = items(10_000, func(i int) any { return keyed(2, int64(i)) })
		},
		"elastic, metrics": func(_, p map[string]any) {
			p["metrics"] = items(manyBytes/20, func(int) any { return map[string]any{"type": "x"} })
		},
		"elastic, metrics of nothing": func(_, p map[string]any) { p["metrics"] = items(10_000, func(i int) any { return int64(i) }) },
		"elastic, everywhere": func(s, p map[string]any) {
			p["rdzvConf"] = settings(1000)
			pod := within(s, "pytorchReplicaSpecs", "Worker", "template", "spec")
			more := items(manyBytes/50, func(i int) any { return map[string]any{"name": fmt.Sprint("c", i), "image": "i"} })
			pod["containers"] = append(more, pod["containers"].([]any)...)
		},
	} {
		raw := untyped.Parse(t, elastic).Object
		spec := within(raw, "spec")
		change(spec, within(spec, "elasticPolicy"))
		objects[name] = raw
	}
	return objects
}

func settings(n int) []any {
	return items(n, func(i int) any { return map[string]any{"key": fmt.Sprint("k", i), "value": "v"} })
}

// within follows keys into nested objects.
func within(m map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		m, _ = m[key].(map[string]any)
	}
	return m
}

func items(n int, item func(i int) any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = item(i)
	}
	return all
}

func keyed(n int, value any) map[string]any {
	m := make(map[string]any, n)
	for i := range n {
		m[fmt.Sprintf("key-%06d", i)] = value
	}
	return m
}

func limits(name, amount string) map[string]any {
	return map[string]any{"limits": map[string]any{name: amount}}
}

func variables(value any) []any {
	return items(manyBytes/40, func(i int) any { return map[string]any{"name": fmt.Sprint("V", i), "value": value} })
}

func containers() []any {
	return items(manyBytes/50, func(i int) any {
		return map[string]any{"name": fmt.Sprint(kinds.TFJob().Container, "-", i), "image": "i"}
	})
}

func mounts(_, spec, container map[string]any) {
	spec["volumes"] = items(manyBytes/90, func(i int) any { return map[string]any{"name": fmt.Sprintf("volume-%06d", i)} })
	container["volumeMounts"] = items(manyBytes/90, func(i int) any {
		return map[string]any{"name": fmt.Sprintf("wolume-%06d", i), "mountPath": fmt.Sprint("/m", i)}
	})
}

func hostPorts(_, spec, container map[string]any) {
	spec["hostNetwork"] = true
	container["ports"] = items(manyBytes/50, func(i int) any { return map[string]any{"containerPort": int64(1 + i%10_000)} })
}

func ports(_, spec, container map[string]any) {
	container["ports"] = items(manyBytes/120, func(i int) any {
		return map[string]any{"containerPort": int64(1 + i), "name": fmt.Sprintf("port-%d", i)}
	})
	more, _ := container["ports"].([]any)
	spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "other", "image": "i", "ports": slices.Clone(more)})
}
