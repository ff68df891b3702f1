package training

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Default says what the operator does if a user leaves out one field of a kind. A null counts as absent. A test compares
// each Default with the converter.
type Default struct {
	// Path leads to the field, without the keys of maps and the indices of lists:
	// spec.tfReplicaSpecs.template.spec.containers.image.
	Path string
	// Required: without the field the object is rejected, whatever the CRD says. The fields below are empty then.
	Required bool
	// Value is the default in JSON; empty if no value that a user could write has the same meaning.
	Value string
	// Means describes the effect; empty if Value needs no explanation.
	Means string
}

// Defaults returns the defaults of all fields of the kind itself, and of the pod template fields that the operator fills
// in or requires.
func (k *Kind) Defaults() []Default {
	rtype := "spec." + k.ReplicaSpecsField
	pod := rtype + ".template.spec"
	const gang = "; it has an effect only with a gang scheduler"
	replicas := Default{Path: rtype + ".replicas", Value: "1"}
	if slices.ContainsFunc(k.ReplicaTypes, func(t KnownReplicaType) bool { return t.Replicas != 1 }) {
		replicas.Value = ""
		for i, t := range k.ReplicaTypes {
			what := strconv.Itoa(int(t.Replicas)) + " of " + t.Name
			if t.Replicas < t.AtLeast {
				what = "to be set for " + t.Name
			}
			replicas.Means += strings.Repeat(", ", min(i, 1)) + what
		}
	}
	restart := Default{Path: rtype + ".restartPolicy", Value: strconv.Quote(string(k.Restart))}
	if slices.ContainsFunc(k.ReplicaTypes, func(t KnownReplicaType) bool { return t.Restart != "" }) {
		restart.Value = ""
		for i, t := range k.ReplicaTypes {
			restart.Means += strings.Repeat(", ", min(i, 1)) + string(cmp.Or(t.Restart, k.Restart)) + " of " + t.Name
		}
	}
	all := []Default{
		{Path: "metadata.name", Required: true},
		{Path: "spec", Required: true},
		{Path: "spec.runPolicy.cleanPodPolicy", Value: strconv.Quote(string(CleanNone)), Means: "all pods stay"},
		{Path: "spec.runPolicy.ttlSecondsAfterFinished", Means: "the job is never deleted"},
		{Path: "spec.runPolicy.activeDeadlineSeconds", Means: "no limit"},
		{Path: "spec.runPolicy.backoffLimit", Means: "no limit"},
		{Path: "spec.runPolicy.suspend", Value: "false"},
		{Path: "spec.runPolicy.managedBy", Value: strconv.Quote(k.ManagedByUs()), Means: "this operator"},
		{Path: "spec.runPolicy.schedulingPolicy.minAvailable", Means: "all replicas" + gang},
		{Path: "spec.runPolicy.schedulingPolicy.queue", Value: `""`, Means: "Volcano's queue \"default\"" + gang},
		{Path: "spec.runPolicy.schedulingPolicy.minResources", Means: "what the pods request together" + gang},
		{Path: "spec.runPolicy.schedulingPolicy.priorityClass", Value: `""`, Means: "none" + gang},
		{Path: "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", Means: "the scheduler's own" + gang + ", and not with Volcano"},

		{Path: rtype, Required: true},
		replicas,
		restart,
		{Path: rtype + ".template", Required: true},
		{Path: pod, Required: true},
		{Path: pod + ".restartPolicy", Means: "what the replica's `restartPolicy` asks for; it is not for the author to choose"},
		{Path: pod + ".containers", Required: true},
		{Path: pod + ".containers.name", Required: true},
		{Path: pod + ".containers.image", Required: true},
	}
	if k.Port.Name != "" {
		all = append(all, Default{Path: pod + ".containers.ports", Value: `[{"name":` + strconv.Quote(k.Port.Name) + `,"containerPort":` + strconv.Itoa(int(k.Port.Number)) + `}]`,
			Means: "in container " + strconv.Quote(k.Container) + "; it is added to other ports, too, unless one has its name"})
	}
	return append(all, k.Own...)
}
