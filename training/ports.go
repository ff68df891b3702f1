package training

import (
	"encoding/json"
	"strconv"
	"strings"

	"stoic/schema"
)

// MaxServicePorts is how many ports a Service declares at most. More could make it larger than what an API server stores.
const MaxServicePorts = 5000

// ServicePorts returns the ports that a Service declares for the TCP ports of its pods. An API server accepts the result whatever
// is declared, because a refused Service would keep the whole job from running:
//
//   - Each number occurs once, under the first name that is given to it.
//   - Each name occurs once: the first port of a name has it.
//   - A port without a name of its own is called port-N, or port--N if another port has that name. Container ports cannot have
//     two hyphens in a row in their names.
func ServicePorts(declared []Port) []Port {
	if len(declared) == 0 {
		return nil
	}
	ports := make([]Port, 0, len(declared))
	position := make(map[int32]int, len(declared)) // of a number
	taken := make(map[string]bool, len(declared))  // names
	for _, port := range declared {
		at, known := position[port.Number]
		if !known {
			if len(ports) == MaxServicePorts || !isPortNumber(port.Number) {
				continue
			}
			at = len(ports)
			position[port.Number] = at
			ports = append(ports, Port{Number: port.Number})
		}
		if ports[at].Name == "" && !taken[port.Name] && isPortName(port.Name) {
			ports[at].Name = port.Name
			taken[port.Name] = true
		}
	}
	for i := range ports {
		if ports[i].Name == "" {
			ports[i].Name = madeUpName(ports[i].Number, taken)
		}
	}
	return ports
}

// WriteServicePorts returns the field spec.ports of a Service; nil if there are none.
func WriteServicePorts(ports []Port) json.RawMessage {
	if len(ports) == 0 {
		return nil
	}
	written := make([]servicePort, len(ports))
	for i, port := range ports {
		written[i] = servicePort{port.Name, port.Number}
	}
	return schema.JSON(written)
}

// servicePort is a port of a Service. The protocol is TCP, and targetPort the same number: both are the defaults.
type servicePort struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}

// isPortName reports whether a container port can have this name: at most 15 lower-case letters, digits and single hyphens, with
// a letter, and no hyphen at either end. A port of a Service can have it, too.
func isPortName(name string) bool {
	if name == "" || len(name) > 15 || name[0] == '-' || name[len(name)-1] == '-' || strings.Contains(name, "--") {
		return false
	}
	hasLetter := false
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z':
			hasLetter = true
		case ('0' > c || c > '9') && c != '-':
			return false
		}
	}
	return hasLetter
}

func isPortNumber(number int32) bool { return 1 <= number && number <= 65535 }

func madeUpName(number int32, taken map[string]bool) string {
	digits := strconv.Itoa(int(number))
	if taken["port-"+digits] {
		return "port--" + digits
	}
	return "port-" + digits
}
