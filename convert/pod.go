package convert

import (
	"fmt"
	"strings"

	"stoic/schema"
)

const annotationLimit = 256 << 10

// pod is what the template's normal form needs to know of the author's template.
type pod struct {
	raw         map[string]any // the template
	training    int            // where the training container stands, or -1
	defaultPort bool           // that it is to get a port of the kind's name
}

// template checks a pod template beyond its types: what would keep every pod of it from being created. Values
// of a wrong type have been told by the walk, so they are passed over here.
func (r *reader) template(raw map[string]any, role *schema.Role) pod {
	pod := pod{raw: raw, training: -1}
	if meta, ok := raw["metadata"].(map[string]any); ok {
		r.enter("metadata")
		r.labels(meta, "labels")
		r.annotations(meta)
		r.leave()
	}
	r.enter("spec")
	defer r.leave()
	switch spec := raw["spec"].(type) {
	case map[string]any:
		r.pod(spec, &pod, role)
	case nil:
		hint := misspelt(raw, "spec")
		if raw["containers"] != nil {
			hint = "`containers` belongs in `spec`"
		}
		r.problem(schema.MissingField, "", "be set", hint)
	}
	return pod
}

func (r *reader) pod(spec map[string]any, pod *pod, role *schema.Role) {
	r.ownRestart(spec, role)
	volumes := r.volumes(spec)
	r.placement(spec)

	if spec["containers"] == nil {
		r.problemIn("containers", schema.MissingField, "", "be set", misspelt(spec, "containers"))
	}
	taken := map[string]bool{}
	if list, ok := spec["containers"].([]any); ok {
		r.enter("containers")
		pod.training = r.trainer(list)
		for i, item := range list {
			ports := r.container(i, item, taken, volumes)
			if i == pod.training {
				role.Ports, role.Port, pod.defaultPort = r.withDefault(ports)
				pod.defaultPort = pod.defaultPort && !onHost(spec, role.Port)
			}
		}
		r.leave()
	}
	inits, _ := spec["initContainers"].([]any)
	r.enter("initContainers")
	for i, item := range inits {
		r.container(i, item, taken, volumes)
	}
	r.leave()
}

// ownRestart warns of a restart policy in the template. Another one takes its place, whatever it is.
func (r *reader) ownRestart(spec map[string]any, role *schema.Role) {
	raw := spec["restartPolicy"]
	if raw == nil || raw == "" || raw == role.Restart.Pod() {
		return
	}
	told := found(raw)
	if policy, ok := raw.(string); ok {
		told = schema.Quote(policy)
	}
	r.enter("restartPolicy")
	r.warning(schema.Conflict, told, "", "it is ignored, the replica's `restartPolicy` decides")
	r.leave()
}

// placement checks on which nodes, and as whom, a pod may run.
func (r *reader) placement(spec map[string]any) {
	r.labels(spec, "nodeSelector")
	key := "serviceAccountName"
	if spec[key] == nil || spec[key] == "" {
		key = "serviceAccount" // its old name
	}
	if name, _ := spec[key].(string); name != "" && !dnsSubdomain(name) {
		r.problemIn(key, schema.InvalidName, schema.Quote(name),
			wantSubdomain, mendName(name))
	}
}

// trainer finds the first container of the kind's name, or tells how it may have been meant. It says nothing
// if a name is missing or malformed: that one may be it.
func (r *reader) trainer(list []any) int {
	names := make([]string, len(list))
	readable := true
	for i, item := range list {
		c, _ := item.(map[string]any)
		names[i], _ = c["name"].(string)
		readable = readable && names[i] != "" && mendedName(names[i]) != r.kind.Container
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
	r.problem(schema.MissingContainer, found, want, hint)
	return -1
}

// rename names the container that was probably meant to train: the only one, or the only near miss.
func (r *reader) rename(names []string) string {
	if len(names) == 1 {
		return "rename containers[0]"
	}
	at, near := 0, 0
	for i, name := range names {
		if _, ok := schema.Nearest(name, []string{r.kind.Container}); ok {
			at = i
			near++
		}
	}
	if near != 1 {
		return ""
	}
	return fmt.Sprintf("rename containers[%d]", at)
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
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// ownName checks a name that is a DNS label and unlike those taken before.
func (r *reader) ownName(fields map[string]any, taken map[string]bool, among string) {
	name, ok := r.required(fields, "name")
	if !ok {
		return
	}
	switch {
	case !dnsLabel(name):
		r.problemIn("name", schema.InvalidName, schema.Quote(name), wantLabel, mendName(name))
	case taken[name]:
		r.problemIn("name", schema.DuplicateName, schema.Quote(name)+" again", "be unique among "+among, "")
	}
	taken[name] = true
}

// required reads a text that must be there and not empty. One of a wrong type has been told.
func (r *reader) required(fields map[string]any, key string) (string, bool) {
	v, ok := fields[key].(string)
	if v == "" && (ok || fields[key] == nil) {
		r.problemIn(key, schema.MissingField, "", "be set", misspelt(fields, key))
	}
	return v, v != ""
}

// labels checks those under a field of what is there.
func (r *reader) labels(fields map[string]any, field string) {
	labels, _ := fields[field].(map[string]any)
	r.enter(field)
	for key, value := range labels {
		r.metaKey(key, key)
		if v, ok := value.(string); ok && !labelValue(v) {
			r.problemIn(key, schema.InvalidValue, schema.Quote(v),
				`be at most 63 letters, digits, "-", "_" and ".", and start and end with a letter or digit`, "")
		}
	}
	r.leave()
}

func (r *reader) annotations(meta map[string]any) {
	annotations, _ := meta["annotations"].(map[string]any)
	r.enter("annotations")
	size := 0
	for key, value := range annotations {
		r.metaKey(key, strings.ToLower(key))
		v, _ := value.(string)
		size += len(key) + len(v)
	}
	if size > annotationLimit {
		r.problem(schema.TooLarge, fmt.Sprintf("%d bytes", size), fmt.Sprintf("be at most %d bytes in all", annotationLimit), "")
	}
	r.leave()
}

// metaKey checks the key of a label or annotation, in the form in which the API server looks at it.
func (r *reader) metaKey(key, form string) {
	if !qualifiedName(form) {
		r.problemIn(key, schema.InvalidName, "key "+schema.Quote(key), wantLabelKey, "")
	}
}
