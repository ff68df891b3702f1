package main

import (
	"fmt"
	"strings"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// parts are the parts of a valid job in which mistakes are made.
type parts struct {
	meta, spec, rtypes, worker, template, pod, container map[string]any
}

func (s *survey) parts() parts {
	var p parts
	p.meta, _ = s.whole["metadata"].(map[string]any)
	p.spec, _ = s.whole["spec"].(map[string]any)
	p.rtypes, _ = p.spec[s.kind.ReplicaSpecsField].(map[string]any)
	p.worker, _ = p.rtypes["Worker"].(map[string]any)
	p.template, _ = p.worker["template"].(map[string]any)
	p.pod, _ = p.template["spec"].(map[string]any)
	containers, _ := p.pod["containers"].([]any)
	p.container, _ = containers[0].(map[string]any)
	return p
}

// mistake is one that takes more than one field, or a certain word.
type mistake struct {
	words string
	make  func(parts)
}

func mistakes() []mistake {
	resources := func(limits, requests map[string]any) func(parts) {
		return func(p parts) { p.container["resources"] = map[string]any{"limits": limits, "requests": requests} }
	}
	variable := map[string]any{"name": "A", "value": "1", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}}}
	return []mistake{
		{"`Worker` and `worker`", func(p parts) { p.rtypes["worker"] = p.worker }},
		{"`Wroker`", func(p parts) { p.rtypes["Wroker"] = p.worker }},
		{"a job's name of 60 letters", func(p parts) { p.meta["name"] = strings.Repeat("a", 60) }},
		{"a second container and an init container, both named `a`", func(p parts) {
			a := map[string]any{"name": "a", "image": "x"}
			p.pod["containers"], p.pod["initContainers"] = []any{p.container, a}, []any{a}
		}},
		{"one container, named `Tensorflow`", func(p parts) { p.container["name"] = "Tensorflow" }},
		{"a variable with `value` and `valueFrom`", func(p parts) { p.container["env"] = []any{variable} }},
		{"`limits: {cpu: 1}`, `requests: {cpu: 2}`", resources(map[string]any{"cpu": int64(1)}, map[string]any{"cpu": int64(2)})},
		{"`requests: {nvidia.com/gpu: 1}`", resources(nil, map[string]any{"nvidia.com/gpu": int64(1)})},
		{"`limits: {nvidia.com/gpu: 2}`, `requests: {nvidia.com/gpu: 1}`",
			resources(map[string]any{"nvidia.com/gpu": int64(2)}, map[string]any{"nvidia.com/gpu": int64(1)})},
		{"`limits: {gpu: 1}`", resources(map[string]any{"gpu": int64(1)}, nil)},
		{"`limits: {nvidia.com/gpu: 0.5}`", resources(map[string]any{"nvidia.com/gpu": 0.5}, nil)},
		{"a volume with `emptyDir` and `hostPath`", func(p parts) {
			p.pod["volumes"] = []any{map[string]any{"name": "v", "emptyDir": map[string]any{}, "hostPath": map[string]any{"path": "/x"}}}
		}},
		{"`cleanPodPolicy` in `spec`", func(p parts) { p.spec["cleanPodPolicy"] = "All" }},
		{"`containers` in `template`", func(p parts) { p.template["containers"] = p.pod["containers"]; delete(p.template, "spec") }},
		{"`imagePullPolcy`", func(p parts) { p.container["imagePullPolcy"] = "Always" }},
		{"`minAvailable: 2` for one replica", func(p parts) {
			p.spec["runPolicy"] = map[string]any{"schedulingPolicy": map[string]any{"minAvailable": int64(2)}}
		}},
		{"an unknown field of a pod, with 100 levels", func(p parts) {
			var deep any = "x"
			for range 100 {
				deep = map[string]any{"a": deep}
			}
			p.pod["unheardOf"] = deep
		}},
	}
}

func mistakesOfTFJob() []mistake {
	return []mistake{
		{"`Chief` and `Master`", func(p parts) { p.rtypes["Chief"], p.rtypes["Master"] = p.worker, p.worker }},
		{"`replicas: 20000`", func(p parts) { p.worker["replicas"] = int64(20000) }},
		{"`PS` and `Worker`, each with `replicas: 12000`", func(p parts) {
			p.worker["replicas"] = int64(12000)
			p.rtypes["PS"] = p.worker
			p.spec["enableDynamicWorker"] = true
		}},
		{"`pytorchReplicaSpecs`", func(p parts) { p.spec["pytorchReplicaSpecs"] = p.rtypes }},
	}
}

// mistakesOf returns those for a kind other than TFJob.
func mistakesOf(kind *training.Kind) []mistake {
	var all []mistake
	if kind == kinds.PyTorchJob() {
		all = mistakesOfPyTorchJob()
	}
	for _, rtype := range kind.ReplicaTypes {
		if rtype.Required {
			all = append(all, mistake{"no " + code(rtype.Name), func(p parts) { delete(p.rtypes, rtype.Name) }})
		}
		if rtype.Only != 0 {
			all = append(all, mistake{fmt.Sprintf("%s with `replicas: %d`", code(rtype.Name), rtype.Only+1), func(p parts) {
				p.rtypes[rtype.Name] = map[string]any{"replicas": int64(rtype.Only) + 1, "template": p.template}
			}})
		}
	}
	if kind.Verbatim != nil { // an elastic policy
		all = append(all, mistake{"`minReplicas: 3`, `maxReplicas: 2`", func(p parts) {
			p.spec["elasticPolicy"] = map[string]any{"minReplicas": int64(3), "maxReplicas": int64(2)}
		}})
	}
	return append(all, mistake{"`Chief`", func(p parts) { p.rtypes["Chief"] = p.worker }},
		mistake{"`worker` in place of `Worker`", func(p parts) { p.rtypes["worker"] = p.worker; delete(p.rtypes, "Worker") }},
		mistake{"`replicas: 19000`", func(p parts) { p.worker["replicas"] = int64(19000) }},
		mistake{"a pod of 10,000 containers", manyContainers},
		mistake{"`tfReplicaSpecs`", func(p parts) { p.spec["tfReplicaSpecs"] = p.rtypes }})
}

func manyContainers(p parts) {
	containers := []any{p.container}
	for i := range 9999 {
		containers = append(containers, map[string]any{"name": fmt.Sprint("c", i), "image": "x"})
	}
	p.pod["containers"] = containers
}

func mistakesOfPyTorchJob() []mistake {
	master := func(p parts, replicas int) {
		p.rtypes["Master"] = map[string]any{"replicas": int64(replicas), "template": p.template}
	}
	elastic := func(policy map[string]any) func(parts) {
		return func(p parts) { p.spec["elasticPolicy"] = policy }
	}
	return []mistake{
		{"`Master` with `replicas: 0`", func(p parts) { master(p, 0) }},
		{"`elasticPolicy` and no `Worker`", func(p parts) {
			master(p, 1)
			delete(p.rtypes, "Worker")
			elastic(map[string]any{})(p)
		}},
		{"`nProcPerNode: 2`", elastic(map[string]any{"nProcPerNode": int64(2)})},
		{"`nProcPerNode: 2` and `nprocPerNode: auto`", func(p parts) {
			p.spec["nprocPerNode"] = "auto"
			elastic(map[string]any{"nProcPerNode": int64(2)})(p)
		}},
		{"`nprocPerNode: 2`", func(p parts) { p.spec["nprocPerNode"] = int64(2) }},
		{"`nprocPerNode: GPU`", func(p parts) { p.spec["nprocPerNode"] = "GPU" }},
		{"`rdzvBackend: etcd2`", elastic(map[string]any{"rdzvBackend": "etcd2"})},
		{"a metric of `type: CPU`", elastic(map[string]any{"metrics": []any{map[string]any{"type": "CPU"}}})},
		{"a `rdzvId` of 131,072 letters", elastic(map[string]any{"rdzvId": strings.Repeat("a", 131072)})},
	}
}

// together tries mistakes that take more than a wrong value of one field, and records the codes that they get.
func together(kind *training.Kind, mistakes []mistake, codes map[schema.Code]bool) (rows [][]string) {
	for _, m := range mistakes {
		s := newSurvey(kind)
		m.make(s.parts())
		var reported []string
		for _, p := range s.ask() {
			codes[p.Code] = true
			reported = append(reported, p.code()+" "+schema.Cut(p.String(), 300))
		}
		if len(reported) == 0 {
			reported = []string{"nothing; the job runs"}
		}
		rows = append(rows, []string{m.words, strings.Join(reported, "<br>")})
	}
	return rows
}
