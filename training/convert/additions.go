package convert

import (
	"encoding/json"
	"slices"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// warnAboutAdditions warns of what the user has written in the pod templates and the operator replaces, and of settings with
// which the replicas cannot find each other. docs/reference/additions.md says for every addition which value wins. It is
// only called for a job without problems.
func (r *reader) warnAboutAdditions(job *training.Job, rtypes []draft) {
	for i := range rtypes {
		template := rtypes[i].pod.raw
		spec, _ := template["spec"].(map[string]any)
		r.Enter(rtypes[i].key)
		r.Enter("template")
		r.warnAboutLabels(job, &job.ReplicaTypes[i], template)
		r.Enter("spec")
		r.warnAboutVariables(job, &job.ReplicaTypes[i], &rtypes[i].pod, spec)
		r.warnAboutFields(job, &job.ReplicaTypes[i], &rtypes[i].pod, spec)
		r.warnAboutNames(job, &job.ReplicaTypes[i], spec)
		r.Leave()
		r.Leave()
		r.Leave()
	}
}

const replaced = "it is ignored, the operator sets it"

func (r *reader) warnAboutLabels(job *training.Job, rtype *training.ReplicaType, template map[string]any) {
	meta, _ := template["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	if len(labels) == 0 {
		return
	}
	r.Enter("metadata")
	r.Enter("labels")
	for _, name := range []string{training.LabelOperator, training.LabelJob, training.LabelReplicaType, training.LabelReplicaIndex, training.LabelJobRole} {
		value, isSet := labels[name]
		if !isSet {
			continue
		}
		if _, isAdded := job.ReplicaLabels(rtype, 0)[name]; !isAdded {
			continue
		}
		r.Enter(name)
		r.Warning(schema.Conflict, convert.Found(value), "", replaced)
		r.Leave()
	}
	r.Leave()
	r.Leave()
}

// warnAboutVariables warns of variables that the operator's replace.
func (r *reader) warnAboutVariables(job *training.Job, rtype *training.ReplicaType, pod *pod, spec map[string]any) {
	if r.kind.Environment == nil {
		return
	}
	var added []training.EnvVar
	containers, _ := spec["containers"].([]any)
	r.Enter("containers")
	for i, item := range containers {
		if i != pod.training && !r.kind.EnvEverywhere {
			continue
		}
		container, _ := item.(map[string]any)
		env, _ := container["env"].([]any)
		for j, item := range env {
			name := nameOf(item)
			documented := slices.IndexFunc(r.kind.Variables, func(v training.Variable) bool { return v.Name == name && !v.UserWins })
			if documented < 0 {
				continue
			}
			if added == nil {
				added = r.kind.Environment(job)(rtype, 0)
			}
			if !slices.ContainsFunc(added, func(v training.EnvVar) bool { return v.Name == name && !v.UserWins }) {
				continue
			}
			hint := replaced
			if field := r.kind.Variables[documented].Instead; field != "" {
				hint += "; use `" + field + "`"
			}
			r.EnterItem(i)
			r.Enter("env")
			r.EnterItem(j)
			r.Enter("name")
			r.Warning(schema.Conflict, schema.Quote(name), "", hint)
			r.Leave()
			r.Leave()
			r.Leave()
			r.Leave()
		}
	}
	r.Leave()
}

// warnAboutFields warns of fields that PodAdditions replace.
func (r *reader) warnAboutFields(job *training.Job, rtype *training.ReplicaType, pod *pod, spec map[string]any) {
	containers, _ := spec["containers"].([]any)
	if r.kind.Pod == nil || pod.training < 0 || pod.training >= len(containers) {
		return
	}
	trainer, _ := containers[pod.training].(map[string]any)
	ofPod := []string{"dnsPolicy", "hostname", "subdomain"}
	ofContainer := []string{"args"}
	isSet := func(name string) bool { return spec[name] != nil }
	if args, _ := trainer["args"].([]any); !slices.ContainsFunc(ofPod, isSet) && len(args) == 0 {
		return
	}
	additions := r.kind.Pod(job, rtype)
	if additions.Hostname {
		ofPod = slices.DeleteFunc(ofPod, func(name string) bool { return name == "hostname" })
		if spec["hostname"] != nil {
			r.warnAboutReplaced("hostname", spec["hostname"], nil)
		}
	}
	for _, name := range ofPod {
		if added := additions.Spec[name]; added != nil && spec[name] != nil {
			r.warnAboutReplaced(name, spec[name], added)
		}
	}
	r.Enter("containers")
	r.EnterItem(pod.training)
	for _, name := range ofContainer {
		if list, _ := trainer[name].([]any); additions.Container[name] != nil && len(list) > 0 {
			r.warnAboutReplaced(name, trainer[name], additions.Container[name])
		}
	}
	r.Leave()
	r.Leave()
}

// warnAboutReplaced warns of a field that the operator replaces by another value.
func (r *reader) warnAboutReplaced(field string, value any, added json.RawMessage) {
	if added != nil && string(schema.JSON(value)) == string(added) {
		return
	}
	found := convert.Found(value)
	if text, isText := value.(string); isText {
		found = schema.Quote(text)
	}
	r.Enter(field)
	r.Warning(schema.Conflict, found, "", replaced)
	r.Leave()
}

// warnAboutNames warns of a DNS policy with which a pod resolves no name of the cluster. Replicas with services find each
// other by such names, and wait for them forever. Without a policy, a pod with hostNetwork gets one that resolves them: see
// draft.template.
func (r *reader) warnAboutNames(job *training.Job, rtype *training.ReplicaType, spec map[string]any) {
	policy, _ := spec["dnsPolicy"].(string)
	circumstance := ""
	remedy := "leave it out"
	switch policy {
	case "Default":
	case "ClusterFirst":
		if spec["hostNetwork"] != true {
			return
		}
		circumstance = " together with `hostNetwork`, which means the DNS of the node"
		remedy = `use "ClusterFirstWithHostNet"`
	case "None":
		config, _ := spec["dnsConfig"].(map[string]any)
		searches, _ := config["searches"].([]any)
		if len(searches) > 0 || r.kind.Cluster.Domain != "" {
			return
		}
		circumstance = " without `dnsConfig.searches`"
		remedy = "add the search domains of the cluster"
	default:
		return
	}
	if rtype.NoService || r.kind.Environment == nil || len(r.kind.Environment(job)(rtype, 0)) == 0 {
		return
	}
	r.Enter("dnsPolicy")
	r.Warning(schema.Conflict, schema.Quote(policy)+circumstance, "",
		"replicas find each other by names that only the DNS of the cluster knows; "+remedy)
	r.Leave()
}

// warnAboutEnd warns of a job that never ends by itself, because the pods that decide its success never succeed.
func (r *reader) warnAboutEnd(job *training.Job, rtypes []draft) {
	for i := range rtypes {
		if rtypes[i].Name != job.Success.ReplicaType || job.ReplicaTypes[i].Restart != training.RestartAlways {
			continue
		}
		r.Enter(rtypes[i].key)
		r.Enter("restartPolicy")
		r.Warning(schema.Conflict, schema.Quote(string(training.RestartAlways)), "",
			`the job never succeeds: a container that has ended well is started again; use "OnFailure"`)
		r.Leave()
		r.Leave()
	}
}
