package convert

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// volumes checks the volumes of a pod and returns their names. The result is nil if a name cannot be read.
func (r *Reader) volumes(spec map[string]any) map[string]bool {
	list, ok := spec["volumes"].([]any)
	taken := make(map[string]bool, len(list))
	readable := ok || spec["volumes"] == nil
	r.Enter("volumes")
	for i, item := range list {
		v, ok := item.(map[string]any)
		if !ok {
			readable = false
			continue
		}
		r.EnterItem(i)
		r.ownName(v, taken, "the volumes of the pod")
		r.source(v)
		r.Leave()
		name, _ := v["name"].(string)
		readable = readable && name != ""
	}
	r.Leave()
	if !readable {
		return nil
	}
	return taken
}

// source checks that a volume has at most one source. Without one it is an empty directory.
func (r *Reader) source(volume map[string]any) {
	var sources []string
	known := shapeOf(reflect.TypeFor[corev1.Volume]()).fields
	for key, value := range volume {
		if key != "name" && value != nil && known[key] != nil {
			sources = append(sources, key)
		}
	}
	if len(sources) > 1 {
		slices.Sort(sources)
		r.ProblemIn(sources[1], schema.Conflict, "a second source beside `"+sources[0]+"`", "be the only source of the volume", "remove one, or make two volumes of it")
	}
}

// mounts checks the volume mounts of a container. Volumes is nil if the names of the pod's volumes are not known.
func (r *Reader) mounts(container map[string]any, volumes map[string]bool) {
	list, _ := container["volumeMounts"].([]any)
	if len(list) == 0 {
		return
	}
	r.Enter("volumeMounts")
	taken := make(map[string]int, len(list))
	for i, item := range list {
		mount, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.EnterItem(i)
		if name, ok := r.Required(mount, "name"); ok && volumes != nil && !volumes[name] {
			r.noVolume(name, volumes)
		}
		if place, ok := r.Required(mount, "mountPath"); ok {
			if before, again := taken[place]; again {
				r.ProblemIn("mountPath", schema.Conflict, schema.Quote(place)+", where volumeMounts["+strconv.Itoa(before)+"] is", "be unique among the mounts of the container", "")
			} else {
				taken[place] = i
			}
		}
		r.Leave()
	}
	r.Leave()
}

func (r *Reader) noVolume(name string, volumes map[string]bool) {
	r.Enter("name")
	defer r.Leave()
	if r.problems.skip(r.at) {
		return
	}
	hint := "add it to the pod's `volumes`"
	var known []string
	if len(volumes) <= schema.KnownLimit {
		known = slices.Collect(maps.Keys(volumes))
	}
	if meant, ok := schema.Nearest(name, known); ok {
		hint = "did you mean " + schema.Quote(meant) + "?"
	}
	r.Problem(schema.InvalidValue, schema.Quote(name), "be the name of a volume of the pod", hint)
}
