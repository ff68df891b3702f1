package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
)

const (
	wantLabel       = `be lower-case letters, digits and "-", at most 63, and start and end with a letter or digit`
	annotationLimit = 256 << 10
)

// pod is what the template's normal form needs to know of the author's template.
type pod struct {
	raw         map[string]any // the template
	training    int            // where the training container stands, or -1
	defaultPort bool           // that it has no port of the kind's name
}

// template checks a pod template beyond its types: what would keep every pod of it from being created. Values
// of a wrong type have been told by the walk, so they are passed over here.
func (r *reader) template(p *path, raw map[string]any, role *schema.Role) pod {
	pod := pod{raw: raw, training: -1}
	if meta, ok := raw["metadata"].(map[string]any); ok {
		step := p.field("metadata")
		r.labels(&step, meta)
		r.annotations(&step, meta)
	}
	step := p.field("spec")
	spec, ok := raw["spec"].(map[string]any)
	if !ok {
		if raw["spec"] == nil {
			hint := ""
			if raw["containers"] != nil {
				hint = "`containers` belongs in `spec`"
			}
			r.problem(&step, schema.MissingField, "", "be set", hint)
		}
		return pod
	}
	if policy, _ := spec["restartPolicy"].(string); policy != "" && policy != role.Restart.Pod() {
		ignored := step.field("restartPolicy")
		r.warning(&ignored, schema.MisplacedField, schema.Quote(policy), "", "it is ignored, the replica's `restartPolicy` decides")
	}
	r.volumes(&step, spec)

	taken := map[string]bool{}
	containers := step.field("containers")
	if list, ok := spec["containers"].([]any); ok {
		pod.training = r.trainer(&containers, list)
		for i, item := range list {
			c, _ := item.(map[string]any)
			at := containers.item(i)
			ports := r.container(&at, c, taken)
			if i == pod.training {
				role.Ports, role.Port, pod.defaultPort = r.withDefault(ports)
			}
		}
	} else if spec["containers"] == nil {
		r.problem(&containers, schema.MissingField, "", "be set", "")
	}
	inits := step.field("initContainers")
	list, _ := spec["initContainers"].([]any)
	for i, item := range list {
		c, _ := item.(map[string]any)
		at := inits.item(i)
		r.container(&at, c, taken)
	}
	return pod
}

// trainer finds the first container of the kind's name, or tells how it may have been meant. It says nothing
// if a name is missing or malformed: that one may be it.
func (r *reader) trainer(p *path, list []any) int {
	names := make([]string, len(list))
	readable := true
	for i, item := range list {
		c, _ := item.(map[string]any)
		names[i], _ = c["name"].(string)
		readable = readable && names[i] != ""
		if names[i] == r.kind.Container {
			return i
		}
	}
	if !readable {
		return -1
	}
	found, want, hint := "an empty list", `include a container named "`+r.kind.Container+`"`, ""
	if len(names) > 0 {
		found, want = quotedNames(names), `include one named "`+r.kind.Container+`"`
		hint = r.rename(names)
	}
	r.problem(p, schema.MissingContainer, found, want, hint)
	return -1
}

// rename names the container that was probably meant to train: the only one, or the only near miss.
func (r *reader) rename(names []string) string {
	if len(names) == 1 {
		return "rename containers[0]"
	}
	at, near := 0, 0
	for i, name := range names {
		if _, ok := nearest(name, []string{r.kind.Container}); ok {
			at = i
			near++
		}
	}
	if near != 1 {
		return ""
	}
	p := path{parent: &path{key: "containers"}, index: at, at: true}
	return "rename " + p.String()
}

// quotedNames: container "a", or containers "a", "b" and 3 more.
func quotedNames(names []string) string {
	const most = 4
	if len(names) == 1 {
		return "container " + schema.Quote(names[0])
	}
	quoted := make([]string, min(len(names), most))
	for i := range quoted {
		quoted[i] = schema.Quote(names[i])
	}
	text := "containers " + strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + whole(int64(more)).String() + " more"
	}
	return text
}

// volumes have names by which containers mount them.
func (r *reader) volumes(p *path, spec map[string]any) {
	list, _ := spec["volumes"].([]any)
	if len(list) == 0 {
		return
	}
	volumes := p.field("volumes")
	taken := make(map[string]bool, len(list))
	for i, item := range list {
		if v, ok := item.(map[string]any); ok {
			at := volumes.item(i)
			r.ownName(&at, v, taken, "the volumes of the pod")
		}
	}
}

// ownName checks a name that is a DNS label and unlike those taken before.
func (r *reader) ownName(p *path, fields map[string]any, taken map[string]bool, among string) {
	name, ok := r.required(p, fields, "name")
	if !ok {
		return
	}
	step := p.field("name")
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		r.problem(&step, schema.InvalidName, schema.Quote(name), wantLabel, "")
	case taken[name]:
		r.problem(&step, schema.DuplicateName, schema.Quote(name)+" again", "be unique among "+among, "")
	}
	taken[name] = true
}

// required reads a text that must be there and not empty. One of a wrong type has been told.
func (r *reader) required(p *path, fields map[string]any, key string) (string, bool) {
	v, ok := fields[key].(string)
	if v == "" && (ok || fields[key] == nil) {
		step := p.field(key)
		r.problem(&step, schema.MissingField, "", "be set", "")
	}
	return v, v != ""
}

func (r *reader) labels(p *path, meta map[string]any) {
	labels, _ := meta["labels"].(map[string]any)
	step := p.field("labels")
	for key, raw := range r.entries(labels) {
		at := step.field(key)
		r.metaKey(&at, key)
		if v, ok := raw.(string); ok && len(validation.IsValidLabelValue(v)) > 0 {
			r.problem(&at, schema.InvalidValue, schema.Quote(v),
				`be at most 63 letters, digits, "-", "_" and ".", and start and end with a letter or digit`, "")
		}
	}
}

func (r *reader) annotations(p *path, meta map[string]any) {
	annotations, _ := meta["annotations"].(map[string]any)
	step := p.field("annotations")
	size := 0
	for key, raw := range r.entries(annotations) {
		at := step.field(key)
		r.metaKey(&at, strings.ToLower(key))
		v, _ := raw.(string)
		size += len(key) + len(v)
	}
	if size > annotationLimit {
		r.problem(&step, schema.TooLarge, whole(int64(size)).String()+" bytes", "be at most 262144 bytes in all", "")
	}
}

// metaKey checks the key of a label or annotation.
func (r *reader) metaKey(p *path, key string) {
	if len(validation.IsQualifiedName(key)) > 0 {
		r.problem(p, schema.InvalidName, "key "+schema.Quote(key),
			`be named with at most 63 letters, digits, "-", "_" and ".", with or without a domain and "/" in front`, "")
	}
}
