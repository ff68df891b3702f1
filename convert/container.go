package convert

import (
	"slices"
	"strings"

	"stoic/schema"
)

// container checks one container beyond its types, and returns its named ports, the first of each name. Taken holds
// the names of those before it; volumes those of the pod's volumes, or is nil.
func (r *reader) container(index int, raw any, taken, volumes map[string]bool) (ports []schema.Port) {
	fields, ok := raw.(map[string]any)
	if !ok {
		return nil // told by the walk
	}
	r.enterItem(index)
	r.ownName(fields, taken, "the containers of the pod")
	if image, ok := r.required(fields, "image"); ok && strings.TrimSpace(image) != image {
		r.problemIn("image", schema.InvalidValue, schema.Quote(image), "be without spaces around it", "")
	}
	r.variables(fields)
	r.resources(fields)
	r.mounts(fields, volumes)
	ports = r.ports(fields)
	r.leave()
	return ports
}

func (r *reader) variables(fields map[string]any) {
	list, _ := fields["env"].([]any)
	r.enter("env")
	for i, item := range list {
		v, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.enterItem(i)
		if name, ok := r.required(v, "name"); ok && !variableName(name) {
			hint := ""
			if before, _, both := strings.Cut(name, "="); both { // what is behind it may be a secret
				name, hint = before+"=...", "put what is behind the \"=\" into `value`"
			}
			r.problemIn("name", schema.InvalidName, schema.Quote(name), `be printable ASCII characters other than "="`, hint)
		}
		value, _ := v["value"].(string)
		if _, ok := v["valueFrom"].(map[string]any); ok && value != "" {
			r.problemIn("valueFrom", schema.Conflict, "`valueFrom` beside `value`", "be the only one of the two", "remove one")
		}
		r.leave()
	}
	r.leave()
}

func variableName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return true
}

func (r *reader) ports(fields map[string]any) (ports []schema.Port) {
	list, _ := fields["ports"].([]any)
	if len(list) == 0 {
		return nil
	}
	taken := make(map[string]bool, len(list))
	r.enter("ports")
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.enterItem(i)
		if port := r.port(fields, taken); port.Name != "" && !taken[port.Name] {
			ports = append(ports, port)
			taken[port.Name] = true
		}
		r.leave()
	}
	r.leave()
	return ports
}

// port checks one port. Taken holds the names of those before it.
func (r *reader) port(fields map[string]any, taken map[string]bool) schema.Port {
	var port schema.Port
	if n, ok := numberOf(fields["containerPort"]); ok {
		v, _ := n.integer()
		port.Number = int32(v) // that it is in range is known by now, or told
	}
	port.Name, _ = fields["name"].(string)
	switch {
	case port.Name == "":
	case !portName(port.Name):
		r.problemIn("name", schema.InvalidName, schema.Quote(port.Name),
			"be a "+wantPort, "")
	case taken[port.Name]:
		r.problemIn("name", schema.DuplicateName, schema.Quote(port.Name)+" again", "be unique among the ports of the container", "")
	}
	return port
}

// withDefault adds the kind's port if there is none of its name; added says so.
func (r *reader) withDefault(ports []schema.Port) (_ []schema.Port, number int32, added bool) {
	for _, port := range ports {
		if port.Name == r.kind.Port.Name {
			return ports, port.Number, false
		}
	}
	return append(ports, r.kind.Port), r.kind.Port.Number, true
}

// onHost says whether the pod holds that TCP port of its host already. A second claim, even by a container to what it
// has, keeps the pod from being created.
func onHost(spec map[string]any, number int32) bool {
	if spec["hostNetwork"] != true {
		return false
	}
	containers, _ := spec["containers"].([]any)
	return slices.ContainsFunc(containers, func(item any) bool {
		container, _ := item.(map[string]any)
		ports, _ := container["ports"].([]any)
		return slices.ContainsFunc(ports, func(item any) bool {
			port, _ := item.(map[string]any)
			n, _ := numberOf(port["containerPort"])
			protocol, _ := port["protocol"].(string)
			ip, _ := port["hostIP"].(string)
			v, whole := n.integer()
			return whole && v == int64(number) && (protocol == "" || protocol == "TCP") && ip == ""
		})
	})
}
