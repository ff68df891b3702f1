package convert

import (
	"fmt"
	"slices"
	"strings"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// pod is what draft.template needs of the user's template.
type pod struct {
	raw         map[string]any // the template
	training    int            // index of the training container, or -1
	defaultPort bool           // whether the kind's port is added
}

// template checks a pod template: the rules of the API server, and those of a job.
func (r *reader) template(raw map[string]any, rtype *training.ReplicaType) pod {
	pod := pod{raw: raw, training: -1}
	r.PodTemplateWith(raw, rtype.Volumes)
	spec, ok := raw["spec"].(map[string]any)
	if !ok {
		return pod // reported by now
	}
	r.Enter("spec")
	defer r.Leave()
	r.ownRestart(spec, rtype)
	rtype.Container = r.kind.Container
	if list, ok := spec["containers"].([]any); ok {
		r.Enter("containers")
		pod.training = r.trainer(list)
		r.Leave()
		if pod.training >= 0 && r.kind.FirstContainer {
			rtype.Container = nameOf(list[pod.training])
			pod.training = 0
		}
		if pod.training >= 0 {
			var isDeclared bool
			rtype.Port, isDeclared = r.ownPort(list[pod.training])
			rtype.Ports = r.servicePorts(spec, list, pod.training, rtype.Port)
			pod.defaultPort = r.kind.Port.Name != "" && !isDeclared && !onHost(spec, rtype.Port)
		}
	}
	return pod
}

// ownRestart warns of a restart policy in the template that differs from the replica's, which always replaces it.
func (r *reader) ownRestart(spec map[string]any, rtype *training.ReplicaType) {
	raw := spec["restartPolicy"]
	if raw == nil || raw == "" || raw == rtype.Restart.Pod() {
		return
	}
	reported := convert.Found(raw)
	if policy, ok := raw.(string); ok {
		reported = schema.Quote(policy)
	}
	r.Enter("restartPolicy")
	if at := r.Path(); !rtype.QuietRestart && (r.podRestartPolicy == "" || schema.ComparePaths(at, r.podRestartPolicy) < 0) {
		r.podRestartPolicy = at
	}
	r.Warning(schema.Conflict, reported, "", "it is ignored, the replica's `restartPolicy` decides")
	r.Leave()
}

func nameOf(container any) string {
	fields, _ := container.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// trainer returns the index of the first container with the kind's name. Otherwise it is the first container if any name
// is allowed; else trainer reports a problem and returns -1. It reports nothing if a name is missing or malformed, because
// that container may be meant.
func (r *reader) trainer(list []any) int {
	names := make([]string, len(list))
	readable := true
	for i, item := range list {
		names[i] = nameOf(item)
		readable = readable && names[i] != "" && convert.Corrected(names[i]) != r.kind.Container
		if names[i] == r.kind.Container {
			return i
		}
	}
	if r.kind.FirstContainer && len(list) > 0 {
		return 0
	}
	if !readable {
		return -1
	}
	found, want, hint := "an empty list", `include a container named "`+r.kind.Container+`"`, ""
	if len(names) > 0 {
		found, want = quotedNames(names), `include one named "`+r.kind.Container+`"`
		hint = r.rename(names)
	}
	if r.kind.FirstContainer {
		want = "have at least one container" // of any name
	}
	r.Problem(schema.MissingContainer, found, want, hint)
	return -1
}

// rename returns a hint to the container that was probably meant to train: the only one, or the only one with a similar name.
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

// quotedNames returns: container "a", or containers "a", "b" and 3 more.
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

// ownPort returns the number of the kind's own port: the port of that name in the training container, whatever its protocol,
// else the default. isDeclared reports whether the container declares the number, under this or another name. A second entry
// of a number would break server-side apply. The number is 0 if the kind has no port.
func (r *reader) ownPort(trainer any) (number int32, isDeclared bool) {
	own := r.kind.Port
	for _, item := range portsOf(trainer) {
		port, isTCP := readPort(item)
		if port.Name == own.Name && own.Name != "" {
			return port.Number, true
		}
		isDeclared = isDeclared || isTCP && port.Number == own.Number
	}
	return own.Number, isDeclared
}

// servicePorts returns the ports for the services of a replica type: own, which is the number of the kind's port, and what the
// containers of its pods and their sidecars declare. The kind's port and the training container come first, so their names stay.
func (r *reader) servicePorts(spec map[string]any, containers []any, trainer int, own int32) []training.Port {
	var declared []training.Port
	if name := r.kind.Port.Name; name != "" {
		declared = append(declared, training.Port{Name: name, Number: own})
	}
	declared = appendPorts(declared, containers[trainer])
	for i, container := range containers {
		if i != trainer {
			declared = appendPorts(declared, container)
		}
	}
	initContainers, _ := spec["initContainers"].([]any)
	for _, container := range initContainers {
		if fields, _ := container.(map[string]any); fields["restartPolicy"] == "Always" {
			declared = appendPorts(declared, container)
		}
	}
	return training.ServicePorts(declared)
}

// appendPorts appends the TCP ports of a container. Numbers out of range were reported before.
func appendPorts(ports []training.Port, container any) []training.Port {
	for _, item := range portsOf(container) {
		if port, isTCP := readPort(item); isTCP {
			ports = append(ports, port)
		}
	}
	return ports
}

func portsOf(container any) []any {
	fields, _ := container.(map[string]any)
	list, _ := fields["ports"].([]any)
	return list
}

func readPort(item any) (port training.Port, isTCP bool) {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	number, _ := convert.IntegerOf(fields["containerPort"])
	protocol, _ := fields["protocol"].(string)
	return training.Port{Name: name, Number: int32(number)}, protocol == "" || protocol == "TCP"
}

// onHost reports whether the pod already uses that TCP port of its host. The API server rejects a pod that lists a host
// port twice, even in the same container.
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
			v, whole := convert.IntegerOf(port["containerPort"])
			protocol, _ := port["protocol"].(string)
			ip, _ := port["hostIP"].(string)
			return whole && v == int64(number) && (protocol == "" || protocol == "TCP") && ip == ""
		})
	})
}
