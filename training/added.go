package training

import (
	"cmp"
	"encoding/json"

	"stoic/schema"
)

// AddedInitContainers returns the init containers, as JSON, that the operator adds to the pods of a replica type. Whatever
// admits the user's containers admits them as well: Pod Security, LimitRanges, quotas, policies. They get no fields of
// their own for this, but those of the training container, which the same rules have to admit:
//
//	field             value
//	resources         cpu, memory and ephemeral storage of the training container. A pod reserves the larger of its init
//	                  containers and its containers, so a quota pays for nothing more, and the QoS class stays
//	securityContext   that of the training container without privileges and added capabilities; all capabilities are
//	                  dropped. In a pod that must not run as root and names no user: Cluster.AddedUser, since the images
//	                  of these containers have no user
//
// A field that the container has already stays: an administrator wrote it (Cluster.WaitFor).
func (j *Job) AddedInitContainers(rtype *ReplicaType) []json.RawMessage {
	if j.Kind.Init == nil {
		return nil
	}
	containers := j.Kind.Init(j, rtype)
	if len(containers) == 0 {
		return nil
	}
	pod := readAdmittedPod(rtype.Template)
	trainer := pod.container(rtype.Container)
	completed := make([]json.RawMessage, len(containers))
	for i, text := range containers {
		var container map[string]json.RawMessage
		if json.Unmarshal(text, &container) != nil || container == nil {
			completed[i] = text
			continue
		}
		if resources := trainer.addedResources(); len(resources) > 0 && container["resources"] == nil {
			container["resources"] = schema.JSON(resources)
		}
		if security := pod.addedSecurityContext(trainer, j.Kind.Cluster.AddedUser); len(security) > 0 && container["securityContext"] == nil {
			container["securityContext"] = schema.JSON(security)
		}
		completed[i] = schema.JSON(container)
	}
	return completed
}

// admittedPod is what admission reads of the pod template. The converter has checked it; unreadable fields stay empty.
type admittedPod struct {
	Spec struct {
		OS struct {
			Name string `json:"name"`
		} `json:"os"`
		SecurityContext map[string]json.RawMessage `json:"securityContext"`
		Containers      []admittedContainer        `json:"containers"`
	} `json:"spec"`
}

type admittedContainer struct {
	Name      string `json:"name"`
	Resources struct {
		Requests map[string]json.RawMessage `json:"requests"`
		Limits   map[string]json.RawMessage `json:"limits"`
	} `json:"resources"`
	SecurityContext map[string]json.RawMessage `json:"securityContext"`
}

func readAdmittedPod(template []byte) *admittedPod {
	var pod admittedPod
	_ = json.Unmarshal(template, &pod) // continues behind what it cannot read
	return &pod
}

// container returns the container of that name, else an empty one.
func (p *admittedPod) container(name string) *admittedContainer {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == name {
			return &p.Spec.Containers[i]
		}
	}
	return &admittedContainer{}
}

// addedResources returns the resources of an added container. Extended resources, such as GPUs, are not needed.
func (c *admittedContainer) addedResources() map[string]map[string]json.RawMessage {
	resources := map[string]map[string]json.RawMessage{}
	copyAmounts := func(field string, amounts map[string]json.RawMessage) {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
			if amounts[name] == nil {
				continue
			}
			if resources[field] == nil {
				resources[field] = map[string]json.RawMessage{}
			}
			resources[field][name] = amounts[name]
		}
	}
	copyAmounts("requests", c.Resources.Requests)
	copyAmounts("limits", c.Resources.Limits)
	return resources
}

// addedSecurityContext returns the security context of an added container.
func (p *admittedPod) addedSecurityContext(trainer *admittedContainer, user int64) map[string]json.RawMessage {
	security := map[string]json.RawMessage{}
	for _, field := range []string{"appArmorProfile", "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile", "windowsOptions"} {
		if value := trainer.SecurityContext[field]; isPresent(value) {
			security[field] = value
		}
	}
	if p.Spec.OS.Name == "windows" {
		return security // the API server refuses the fields below
	}
	security["allowPrivilegeEscalation"] = json.RawMessage("false")
	security["capabilities"] = json.RawMessage(`{"drop":["ALL"]}`)
	isNonRoot := string(p.effective(trainer, "runAsNonRoot")) == "true"
	if isNonRoot && user >= 0 && !isPresent(p.effective(trainer, "runAsUser")) {
		security["runAsUser"] = schema.JSON(cmp.Or(user, DefaultAddedUser))
	}
	return security
}

// effective returns a field of the container's security context, else that of the pod's.
func (p *admittedPod) effective(c *admittedContainer, field string) json.RawMessage {
	if value := c.SecurityContext[field]; isPresent(value) {
		return value
	}
	return p.Spec.SecurityContext[field]
}

// isPresent reports whether a member of an object is there and no null.
func isPresent(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }
