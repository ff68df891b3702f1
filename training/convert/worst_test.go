package convert

import (
	"fmt"
	"slices"
	"testing"

	"stoic/test/untyped"
	"stoic/training/kinds"
)

// manyBytes is a sixth of the largest object that an API server stores: enough to tell what is not proportional to the size.
const manyBytes = 256 << 10

// worst returns objects of that size, each with very many values that the rules for training jobs compare with each other or copy.
func worst(t testing.TB) map[string]map[string]any {
	objects := worstOfKinds(t)
	for name, change := range map[string]func(spec, container map[string]any){
		"variables":                           func(_, c map[string]any) { c["env"] = variables() },
		"containers whose names nearly train": func(s, _ map[string]any) { s["containers"] = containers() },
		"mounts of volumes that nearly exist": mounts,
		"host ports beside the kind's":        hostPorts,
		"ports":                               ports,
	} {
		u := largeJob(t).Object
		spec := within(u, "spec", "tfReplicaSpecs", "Worker", "template", "spec")
		container, _ := spec["containers"].([]any)[0].(map[string]any)
		change(spec, container)
		objects[name] = u
	}
	for name, change := range map[string]func(spec, policy map[string]any){
		"elastic, settings": func(_, p map[string]any) { p["rdzvConf"] = settings(manyBytes / 30) },
		"elastic, settings of others": func(_, p map[string]any) {
			p["rdzvConf"] = items(10_000, func(i int) any { return keyed(2, int64(i)) })
		},
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

func variables() []any {
	return items(manyBytes/40, func(i int) any { return map[string]any{"name": fmt.Sprint("V", i), "value": "1"} })
}

func containers() []any {
	return items(manyBytes/50, func(i int) any {
		return map[string]any{"name": fmt.Sprint(kinds.TFJob().Container, "-", i), "image": "i"}
	})
}

func mounts(spec, container map[string]any) {
	spec["volumes"] = items(manyBytes/90, func(i int) any { return map[string]any{"name": fmt.Sprintf("volume-%06d", i)} })
	container["volumeMounts"] = items(manyBytes/90, func(i int) any {
		return map[string]any{"name": fmt.Sprintf("wolume-%06d", i), "mountPath": fmt.Sprint("/m", i)}
	})
}

func hostPorts(spec, container map[string]any) {
	spec["hostNetwork"] = true
	container["ports"] = items(manyBytes/50, func(i int) any { return map[string]any{"containerPort": int64(1 + i%10_000)} })
}

func ports(spec, container map[string]any) {
	container["ports"] = items(manyBytes/120, func(i int) any {
		return map[string]any{"containerPort": int64(1 + i), "name": fmt.Sprintf("port-%d", i)}
	})
	more, _ := container["ports"].([]any)
	spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "other", "image": "i", "ports": slices.Clone(more)})
}
