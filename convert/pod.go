package convert

import (
	"fmt"
	"strings"

	"stoic/schema"
)

const annotationLimit = 256 << 10

// PodTemplate checks a pod template beyond its types: it reports what would keep all its pods from being created. It skips values
// of a wrong type, which Walk reports.
func (r *Reader) PodTemplate(raw map[string]any) {
	r.PodTemplateWith(raw, nil)
	spec, _ := raw["spec"].(map[string]any)
	if list, ok := spec["containers"].([]any); ok && len(list) == 0 {
		r.Enter("spec")
		r.ProblemIn("containers", schema.MissingField, "an empty list", "have at least one container", "")
		r.Leave()
	}
}

// PodTemplateWith is PodTemplate for pods to which the operator adds volumes of these names: containers may mount them. It leaves
// an empty list of containers to the caller, who may know which container is missing.
func (r *Reader) PodTemplateWith(raw map[string]any, volumes []string) {
	if meta, ok := raw["metadata"].(map[string]any); ok {
		r.Enter("metadata")
		r.labels(meta, "labels")
		r.annotations(meta)
		r.Leave()
	}
	r.Enter("spec")
	defer r.Leave()
	switch spec := raw["spec"].(type) {
	case map[string]any:
		r.pod(spec, volumes)
	case nil:
		hint := Misspelt(raw, "spec")
		if raw["containers"] != nil {
			hint = "`containers` belongs in `spec`"
		}
		r.Problem(schema.MissingField, "", "be set", hint)
	}
}

func (r *Reader) pod(spec map[string]any, added []string) {
	volumes := r.volumes(spec)
	if volumes != nil {
		for _, name := range added {
			volumes[name] = true
		}
	}
	r.placement(spec)
	r.resources(spec)
	r.amounts(spec, "overhead") // validated like limits

	if spec["containers"] == nil {
		r.ProblemIn("containers", schema.MissingField, "", "be set", Misspelt(spec, "containers"))
	}
	taken := map[string]bool{}
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := spec[key].([]any)
		r.Enter(key)
		for i, item := range list {
			r.container(i, item, taken, volumes)
		}
		r.Leave()
	}
}

// placement checks the node selector and the service account of a pod.
func (r *Reader) placement(spec map[string]any) {
	r.labels(spec, "nodeSelector")
	key := "serviceAccountName"
	if spec[key] == nil || spec[key] == "" {
		key = "serviceAccount" // its old name
	}
	if name, _ := spec[key].(string); name != "" && !dnsSubdomain(name) {
		r.ProblemIn(key, schema.InvalidName, schema.Quote(name),
			wantSubdomain, SuggestName(name))
	}
}

// ownName checks that a name is a DNS label and differs from the names in taken.
func (r *Reader) ownName(fields map[string]any, taken map[string]bool, among string) {
	name, ok := r.Required(fields, "name")
	if !ok {
		return
	}
	switch {
	case !dnsLabel(name):
		r.ProblemIn("name", schema.InvalidName, schema.Quote(name), wantLabel, SuggestName(name))
	case taken[name]:
		r.ProblemIn("name", schema.DuplicateName, schema.Quote(name)+" again", "be unique among "+among, "")
	}
	taken[name] = true
}

// Required returns a text that must be set and not empty. The walk reports one of a wrong type.
func (r *Reader) Required(fields map[string]any, key string) (string, bool) {
	v, ok := fields[key].(string)
	if v == "" && (ok || fields[key] == nil) {
		r.ProblemIn(key, schema.MissingField, "", "be set", Misspelt(fields, key))
	}
	return v, v != ""
}

// labels checks the labels in a field of the current object.
func (r *Reader) labels(fields map[string]any, field string) {
	labels, _ := fields[field].(map[string]any)
	r.Enter(field)
	for key, value := range labels {
		r.metaKey(key, key)
		if v, ok := value.(string); ok && !labelValue(v) {
			r.ProblemIn(key, schema.InvalidValue, schema.Quote(v),
				`be at most 63 letters, digits, "-", "_" and ".", and start and end with a letter or digit`, "")
		}
	}
	r.Leave()
}

// Selector checks matchLabels of a label selector: an API server refuses to select by invalid labels. The rule is
// And[metav1.LabelSelector]((*Reader).Selector). Rules of its type check matchExpressions.
func (r *Reader) Selector(raw map[string]any) { r.labels(raw, "matchLabels") }

func (r *Reader) annotations(meta map[string]any) {
	annotations, _ := meta["annotations"].(map[string]any)
	r.Enter("annotations")
	size := 0
	for key, value := range annotations {
		r.metaKey(key, strings.ToLower(key))
		v, _ := value.(string)
		size += len(key) + len(v)
	}
	if size > annotationLimit {
		r.Problem(schema.TooLarge, fmt.Sprintf("%d bytes", size), fmt.Sprintf("be at most %d bytes in all", annotationLimit), "")
	}
	r.Leave()
}

// metaKey checks the key of a label or annotation, in the form that the API server validates.
func (r *Reader) metaKey(key, form string) {
	if !qualifiedName(form) {
		r.ProblemIn(key, schema.InvalidName, "key "+schema.Quote(key), wantLabelKey, "")
	}
}
