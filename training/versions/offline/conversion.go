package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stoic/convert"
	"stoic/convert/versions"
	"stoic/schema"
	"stoic/training"
)

// conversion is the conversion of one object, which is a copy and may be changed.
type conversion struct {
	form     form
	version  string // of the form
	options  Options
	object   map[string]any
	result   Result
	problems []schema.Problem
}

// unchanged reports whether the object already was in the current form, and nothing had to be converted.
func (c *conversion) unchanged() bool {
	return c.form.group == group && c.version == version && len(c.result.Moved)+len(c.result.Lost)+len(c.result.Filled) == 0
}

// spec returns the spec of the object; nil if it is missing or malformed, which the v1 converter reports.
func (c *conversion) spec() map[string]any { return object(c.object, "spec") }

func (c *conversion) lost(path, text string) {
	c.result.Lost = append(c.result.Lost, Note{path, text})
}

func (c *conversion) filled(path, text string) {
	c.result.Filled = append(c.result.Filled, Note{path, text})
}

func (c *conversion) moved(from, to string) {
	c.result.Moved = append(c.result.Moved, Moved{from, to})
}

func (c *conversion) problem(p schema.Problem) { c.problems = append(c.problems, p) }

// lose removes a field of the spec, and notes its loss if it was not empty.
func (c *conversion) lose(key, text string) {
	if value, ok := c.spec()[key]; ok {
		if delete(c.spec(), key); !void(value) {
			c.lost("spec."+key, text)
		}
	}
}

// noField returns why a field of the old form is lost.
func (c *conversion) noField() string { return c.form.kind + "s of kubeflow.org/v1 have no such field" }

// flatten moves fields of the spec into its run policy. Fields that are already set there win.
func (c *conversion) flatten(keys ...string) {
	spec := c.spec()
	policy, ok := spec["runPolicy"].(map[string]any)
	if !ok && spec["runPolicy"] != nil {
		return
	}
	for _, key := range keys {
		from, to := "spec."+key, "spec.runPolicy."+key
		value, there := spec[key]
		switch {
		case !there:
			continue
		case void(value): // it says nothing
		case !void(policy[key]):
			c.lost(from, "`"+to+"` is set, and counts")
		default:
			if policy == nil {
				policy = map[string]any{}
				spec["runPolicy"] = policy
			}
			policy[key] = value
			c.moved(from, to)
		}
		delete(spec, key)
	}
}

// flatPolicy moves the fields that the first v1 of some kinds had in the spec.
func flatPolicy(c *conversion) {
	c.flatten("activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished")
}

// pyTorchJob returns PyTorchJob in the versions of pytorch-operator, none of which a cluster serves.
func pyTorchJob() versions.Kind {
	flat := func(name string) versions.Move {
		return versions.Move{Here: "spec." + name, Hub: "spec.runPolicy." + name}
	}
	newer := []string{"spec.runPolicy", "spec.elasticPolicy", "spec.nprocPerNode"}
	older := []versions.Move{flat("cleanPodPolicy"), flat("ttlSecondsAfterFinished")}
	return versions.Kind{Group: group, Name: "PyTorchJob", Hub: version, Annotation: training.AnnotationConversion, Versions: []versions.Version{
		{Name: "v1beta2", HubOnly: newer, Moves: append(slices.Clone(older), flat("activeDeadlineSeconds"), flat("backoffLimit"))},
		{Name: "v1beta1", HubOnly: newer, Moves: older},
		{Name: "v1alpha2", HubOnly: newer, Moves: append(slices.Clone(older), versions.Move{Here: "status.pytorchReplicaStatuses", Hub: "status.replicaStatuses"})},
	}}
}

// table returns a conversion by a table, followed by flatPolicy.
func table(kind versions.Kind) func(*conversion) {
	return func(c *conversion) {
		c.byTable(kind)
		flatPolicy(c)
	}
}

// byTable converts like a webhook. It removes the annotation, because the manifest is not converted back.
func (c *conversion) byTable(kind versions.Kind) {
	converter, err := kind.Converter()
	if err != nil {
		c.problem(convert.Broken(err)) // a test holds the tables to be sound
		return
	}
	meta, had := c.object["metadata"].(map[string]any)
	if !had && c.object["metadata"] == nil {
		c.object["metadata"] = map[string]any{} // which the converter requires
	}
	annotated := object(meta, "annotations")[kind.Annotation] != nil
	r, err := converter.Convert(c.object, version)
	if err != nil {
		c.problem(convert.Broken(err))
		return
	}
	if r.Outcome == versions.Panicked {
		c.problem(convert.Broken(r.Why))
		return
	}
	before := c.object
	c.object, _ = clone(r.Object).(map[string]any)
	c.unannotate(kind.Annotation, annotated, had)
	of := kind.Versions[slices.IndexFunc(kind.Versions, func(v versions.Version) bool { return v.Name == c.version })]
	for _, place := range r.Lost {
		text := c.noField()
		if slices.Contains(of.HubOnly, place) {
			text = c.form.kind + "s of " + group + "/" + c.version + " have no such field, so it had no effect"
		}
		c.lost(place, text)
	}
	for _, m := range of.Moves {
		value, there := at(c.object, m.Hub)
		switch _, was := at(before, m.Here); {
		case slices.Contains(r.Filled, m.Hub):
			c.filled(m.Hub, fmt.Sprintf("%v, which %ss of %s/%s mean without it", value, c.form.kind, group, c.version))
		case there && was && m.Here != m.Hub:
			c.moved(m.Here, m.Hub)
		}
	}
}

// unannotate removes the annotation of the conversion, and parents that were created for it.
func (c *conversion) unannotate(key string, annotated, hadMeta bool) {
	meta, ok := c.object["metadata"].(map[string]any)
	if !ok {
		return
	}
	annotations := object(meta, "annotations")
	if delete(annotations, key); annotations != nil && len(annotations) == 0 {
		delete(meta, "annotations")
	}
	if !hadMeta && len(meta) == 0 {
		delete(c.object, "metadata")
	}
	if annotated {
		c.lost(convert.Path("metadata", "annotations", key), "it is removed; what it kept for v1 is back in its place")
	}
}

// object returns the object under a key; nil if there is none.
func object(in map[string]any, key string) map[string]any {
	value, _ := in[key].(map[string]any)
	return value
}

// at returns the value at a place such as spec.runPolicy.suspend.
func at(in map[string]any, place string) (value any, ok bool) {
	keys := strings.Split(place, ".")
	for _, key := range keys[:len(keys)-1] {
		in = object(in, key)
	}
	value, ok = in[keys[len(keys)-1]]
	return value, ok
}

// void reports whether a value counts as absent.
func void(value any) bool { return value == nil || value == "" }

// clone returns a deep copy of a JSON value.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := maps.Clone(v)
		for key, member := range copied {
			copied[key] = clone(member)
		}
		return copied
	case []any:
		copied := slices.Clone(v)
		for i, item := range copied {
			copied[i] = clone(item)
		}
		return copied
	}
	return value
}
