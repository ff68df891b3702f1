package convert

import (
	"slices"
	"strings"

	"stoic/schema"
)

// resources checks what a container asks for and what it is limited to.
func (r *Reader) resources(container map[string]any) {
	fields, _ := container["resources"].(map[string]any)
	limits, readable := fields["limits"].(map[string]any)
	readable = readable || fields["limits"] == nil // else reported by the walk
	requests, _ := fields["requests"].(map[string]any)
	r.Enter("resources")
	r.Enter("limits")
	for name, value := range limits {
		r.Amount(name, value)
	}
	r.Leave()
	r.Enter("requests")
	for name, value := range requests {
		if r.Amount(name, value) && readable {
			r.request(name, value, limits)
		}
	}
	r.Leave()
	r.Leave()
}

// Amount checks the name of a resource and that there is not less than nothing of it.
func (r *Reader) Amount(name string, raw any) (sound bool) {
	if !strings.Contains(name, "/") && !slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name) && !strings.HasPrefix(name, "hugepages-") {
		hint := ""
		if name == "gpu" || name == "gpus" {
			hint = "did you mean `nvidia.com/gpu`?"
		} else if meant, ok := schema.Nearest(name, []string{"cpu", "memory", "ephemeral-storage"}); ok {
			hint = "did you mean `" + meant + "`?"
		}
		r.ProblemIn(name, schema.InvalidName, "resource "+schema.Quote(name), `be "cpu", "memory", "ephemeral-storage", "hugepages-SIZE" or a name with a domain and "/" in front`, hint)
		return false
	}
	text, ok := Written(raw)
	if !ok {
		return false
	}
	if plainQuantity(text) {
		return true
	}
	value, ok := schema.ParseQuantity(text)
	if ok && value.Sign() < 0 {
		r.ProblemIn(name, schema.OutOfRange, schema.Quote(text), "be greater than or equal to 0", "")
		return false
	}
	return ok
}

// request checks one against its limit. What cannot be shared, as a GPU, is asked for by its limit.
func (r *Reader) request(name string, raw any, limits map[string]any) {
	whole := strings.HasPrefix(name, "hugepages-") || strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/")
	limit, ok := Written(limits[name])
	if limits[name] == nil {
		if whole {
			r.ProblemIn(name, schema.Conflict, "a request without a limit", "have a limit that is equal", "move it to `limits`, which is enough")
		}
		return
	}
	asked, _ := Written(raw)
	if !ok || asked == limit {
		return
	}
	most, ok := schema.ParseQuantity(limit)
	if !ok {
		return // reported by the walk
	}
	least, _ := schema.ParseQuantity(asked)
	switch order := least.Cmp(most); {
	case whole && order != 0:
		r.ProblemIn(name, schema.Conflict, schema.Quote(asked), "be equal to its limit, "+schema.Quote(limit), "leave it to `limits`, which is enough")
	case order > 0:
		r.ProblemIn(name, schema.Conflict, schema.Quote(asked), "be at most its limit, "+schema.Quote(limit), "")
	}
}
