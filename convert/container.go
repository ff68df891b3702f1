package convert

import (
	"strings"

	"stoic/schema"
)

// container checks one container beyond its types. Taken holds the names of earlier containers. Volumes holds the names of the
// pod's volumes, or is nil.
func (r *Reader) container(index int, raw any, taken, volumes map[string]bool) {
	fields, ok := raw.(map[string]any)
	if !ok {
		return // reported by the walk
	}
	r.EnterItem(index)
	r.ownName(fields, taken, "the containers of the pod")
	if image, ok := r.Required(fields, "image"); ok && strings.TrimSpace(image) != image {
		r.ProblemIn("image", schema.InvalidValue, schema.Quote(image), "be without spaces around it", "")
	}
	r.variables(fields)
	r.resources(fields)
	r.mounts(fields, volumes)
	r.ports(fields)
	r.Leave()
}

func (r *Reader) variables(fields map[string]any) {
	list, _ := fields["env"].([]any)
	r.Enter("env")
	for i, item := range list {
		v, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.EnterItem(i)
		if name, ok := r.Required(v, "name"); ok && !variableName(name) {
			hint := ""
			if before, _, both := strings.Cut(name, "="); both { // what is behind it may be a secret
				name, hint = before+"=...", "put what is behind the \"=\" into `value`"
			}
			r.ProblemIn("name", schema.InvalidName, schema.Quote(name), `be printable ASCII characters other than "="`, hint)
		}
		value, _ := v["value"].(string)
		if _, ok := v["valueFrom"].(map[string]any); ok && value != "" {
			r.ProblemIn("valueFrom", schema.Conflict, "`valueFrom` beside `value`", "be the only one of the two", "remove one")
		}
		r.Leave()
	}
	r.Leave()
}

func variableName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return true
}

func (r *Reader) ports(fields map[string]any) {
	list, _ := fields["ports"].([]any)
	if len(list) == 0 {
		return
	}
	taken := make(map[string]bool, len(list))
	r.Enter("ports")
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.EnterItem(i)
		if name := r.port(fields, taken); name != "" {
			taken[name] = true
		}
		r.Leave()
	}
	r.Leave()
}

// port checks the name of one port. Taken holds the names of earlier ports.
func (r *Reader) port(fields map[string]any, taken map[string]bool) string {
	name, _ := fields["name"].(string)
	switch {
	case name == "":
	case !portName(name):
		r.ProblemIn("name", schema.InvalidName, schema.Quote(name), "be a "+wantPort, "")
	case taken[name]:
		r.ProblemIn("name", schema.DuplicateName, schema.Quote(name)+" again", "be unique among the ports of the container", "")
	}
	return name
}
