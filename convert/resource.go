package convert

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"stoic/schema"
)

// amounts checks the map of amounts in a field of the current object and returns it; readable is false if it is no map.
func (r *Reader) amounts(fields map[string]any, field string) (amounts map[string]any, readable bool) {
	amounts, readable = fields[field].(map[string]any)
	r.Enter(field)
	for name, value := range amounts {
		r.amount(name, value)
	}
	r.Leave()
	return amounts, readable
}

// resources checks the requests and limits of a container, or of a pod as a whole.
func (r *Reader) resources(of map[string]any) {
	fields, _ := of["resources"].(map[string]any)
	requests, _ := fields["requests"].(map[string]any)
	r.Enter("resources")
	limits, readable := r.amounts(fields, "limits")
	readable = readable || fields["limits"] == nil // else reported by the walk
	r.Enter("requests")
	for name, value := range requests {
		if r.amount(name, value) && readable {
			r.request(name, value, limits)
		}
	}
	r.Leave()
	r.Leave()
}

// amount checks an amount of a resource. The API server requires integers for extended resources, which cannot be shared.
func (r *Reader) amount(name string, raw any) (sound bool) {
	if !r.Amount(name, raw) {
		return false
	}
	if text, _ := Written(raw); isExtended(name) && !isWhole(text) {
		r.ProblemIn(name, schema.InvalidValue, schema.Quote(text), "be an integer", "a device is given to one container as a whole")
		return false
	}
	return true
}

// isExtended reports whether a resource has a domain other than those of Kubernetes.
func isExtended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/")
}

// roundedUp returns a quantity rounded up to thousandths, as the API server stores it in a pod before it compares.
func roundedUp(written string) (value resource.Quantity, ok bool) {
	value, ok = schema.ParseQuantity(written)
	value.RoundUp(resource.Milli)
	return value, ok
}

// isWhole reports whether a quantity is an integer. It looks before it parses: most are a few digits.
func isWhole(written string) bool {
	if plainQuantity(written) && !strings.HasSuffix(written, "m") {
		return true
	}
	value, _ := roundedUp(written)
	return value.RoundUp(0)
}

// Amount checks the name of a resource, and that its quantity is not negative.
func (r *Reader) Amount(name string, raw any) (sound bool) {
	if !(strings.Contains(name, "/") && qualifiedName(name)) && !slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name) && !strings.HasPrefix(name, "hugepages-") {
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

// request checks a request against its limit. A resource that cannot be shared, such as a GPU, needs only a limit.
func (r *Reader) request(name string, raw any, limits map[string]any) {
	whole := strings.HasPrefix(name, "hugepages-") || isExtended(name)
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
	most, ok := roundedUp(limit)
	if !ok {
		return // reported by the walk
	}
	least, _ := roundedUp(asked)
	switch order := least.Cmp(most); {
	case whole && order != 0:
		r.ProblemIn(name, schema.Conflict, schema.Quote(asked), "be equal to its limit, "+schema.Quote(limit), "leave it to `limits`, which is enough")
	case order > 0:
		r.ProblemIn(name, schema.Conflict, schema.Quote(asked), "be at most its limit, "+schema.Quote(limit), "")
	}
}
