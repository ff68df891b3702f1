package apply

import (
	"encoding/json"
	"fmt"

	"stoic/schema"
)

// generated returns an object with the fields that its generator makes. They are in memory only during the request:
// what is logged, remembered or emitted as an event is made of the object as planned.
func (a *Applier) generated(o schema.Object) (schema.Object, error) {
	if o.Generate == "" {
		return o, nil
	}
	d := a.dependents(o.Resource)
	if d == nil || d.Generators[o.Generate] == nil {
		return o, fmt.Errorf("create %s %s: the watch has no generator %q", o.Resource.Kind, o.Name, o.Generate)
	}
	fields, err := d.Generators[o.Generate]()
	if err != nil {
		return o, fmt.Errorf("create %s %s: generate %q: %w", o.Resource.Kind, o.Name, o.Generate, err)
	}
	body := map[string]json.RawMessage{}
	if err := json.Unmarshal(o.Body, &body); err != nil {
		return o, fmt.Errorf("create %s %s: read what was planned: %w", o.Resource.Kind, o.Name, err)
	}
	for name, value := range fields {
		body[name] = schema.JSON(value)
	}
	o.Body = schema.JSON(body)
	return o, nil
}
