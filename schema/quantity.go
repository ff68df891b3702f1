package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Longer quantities, and exponents with more digits, are not parsed.
const (
	quantityLimit = 256
	powerLimit    = 3
)

// ParseQuantity parses as the API server does, also with spaces around. It checks lengths first: the parser raises ten to any
// exponent, and its cost grows with the square of the number of digits.
func ParseQuantity(written string) (resource.Quantity, bool) {
	written = strings.TrimSpace(written)
	if len(written) > quantityLimit {
		return resource.Quantity{}, false
	}
	if at := strings.LastIndexAny(written, "eE"); at >= 0 {
		if power := strings.TrimLeft(written[at+1:], "+-0"); len(power) > powerLimit {
			return resource.Quantity{}, false
		}
	}
	value, err := resource.ParseQuantity(written)
	return value, err == nil
}
