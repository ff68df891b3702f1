package convert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
)

// container checks one container beyond its types, and returns its named ports, the first of each name.
// Fields is nil if it is none, which has been told.
func (r *reader) container(p *path, fields map[string]any, taken map[string]bool) []schema.Port {
	if fields == nil {
		return nil
	}
	r.ownName(p, fields, taken, "the containers of the pod")
	if image, ok := r.required(p, fields, "image"); ok && strings.TrimSpace(image) != image {
		step := p.field("image")
		r.problem(&step, schema.InvalidValue, schema.Quote(image), "be without spaces around it", "")
	}
	r.variables(p, fields)
	return r.ports(p, fields)
}

func (r *reader) variables(p *path, fields map[string]any) {
	list, _ := fields["env"].([]any)
	env := p.field("env")
	for i, item := range list {
		v, ok := item.(map[string]any)
		if !ok {
			continue
		}
		at := env.item(i)
		if name, ok := r.required(&at, v, "name"); ok && !variableName(name) {
			step := at.field("name")
			r.problem(&step, schema.InvalidName, schema.Quote(name), `be printable ASCII characters other than "="`, "")
		}
	}
}

func variableName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return true
}

func (r *reader) ports(p *path, fields map[string]any) []schema.Port {
	list, _ := fields["ports"].([]any)
	if len(list) == 0 {
		return nil
	}
	step := p.field("ports")
	var ports []schema.Port
	taken := make(map[string]bool, len(list))
	for i, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		at := step.item(i)
		number := r.portNumber(&at, fields, "containerPort", 1)
		r.portNumber(&at, fields, "hostPort", 0)
		protocol, _ := fields["protocol"].(string)
		if words := []string{"TCP", "UDP", "SCTP"}; protocol != "" && !slices.Contains(words, protocol) {
			step := at.field("protocol")
			r.choice(&step, protocol, words)
		}
		name, _ := fields["name"].(string)
		if name == "" {
			continue
		}
		if r.portName(&at, name, taken[name]); !taken[name] {
			ports = append(ports, schema.Port{Name: name, Number: number})
		}
		taken[name] = true
	}
	return ports
}

func (r *reader) portName(p *path, name string, taken bool) {
	step := p.field("name")
	switch {
	case len(validation.IsValidPortName(name)) > 0:
		r.problem(&step, schema.InvalidName, schema.Quote(name),
			`be at most 15 lower-case letters, digits and single "-", at least one of them a letter`, "")
	case taken:
		r.problem(&step, schema.DuplicateName, schema.Quote(name)+" again", "be unique among the ports of the container", "")
	}
}

// portNumber reads a port number. Only one that may be left out may be 0, which says the same.
func (r *reader) portNumber(p *path, fields map[string]any, key string, least int64) int32 {
	step := p.field(key)
	if fields[key] == nil {
		if least > 0 {
			r.problem(&step, schema.MissingField, "", "be set", "")
		}
		return 0
	}
	n, ok := numberOf(fields[key])
	v, whole := n.integer()
	if !ok || !whole || v < math.MinInt32 || v > math.MaxInt32 {
		return 0 // told by the walk
	}
	if v < least || v > math.MaxUint16 {
		r.problem(&step, schema.OutOfRange, found(n), fmt.Sprintf("be from %d to 65535", least), "")
	}
	return int32(v)
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
