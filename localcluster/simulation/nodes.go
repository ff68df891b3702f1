package simulation

import (
	_ "embed"
	"fmt"
)

// Stages are the documents in which kwok finds how nodes and pods behave.
//
//go:embed stages.yaml
var stages []byte

// DeletedCondition is the condition that a stage gives to a pod that it deletes in the next step.
const DeletedCondition = "simulation.stoic/deleted"

// DeletionPlugin is the name under which kwok's kubeconfig asks for deletions by UID.
const DeletionPlugin = "simulation.stoic/deletions"

// Stages returns kwok's configuration.
func Stages() []byte { return stages }

// Node returns the object of the node with the given number, as the API server
// takes it. It is ready from the start: nothing has to happen before pods can be
// scheduled onto it.
func Node(number int, version string) map[string]any {
	name := fmt.Sprintf("node-%d", number)
	room := map[string]any{"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000", "nvidia.com/gpu": "8"}
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]any{
				"kubernetes.io/hostname":           name,
				"kubernetes.io/os":                 "linux",
				"kubernetes.io/arch":               "amd64",
				"node.kubernetes.io/instance-type": "simulated",
				"topology.kubernetes.io/zone":      fmt.Sprintf("zone-%d", number%3),
			},
		},
		"status": map[string]any{
			"capacity":    room,
			"allocatable": room,
			"addresses": []any{
				map[string]any{"type": "InternalIP", "address": fmt.Sprintf("10.%d.%d.%d", 192+number>>16&63, number>>8&255, number&255)},
				map[string]any{"type": "Hostname", "address": name},
			},
			"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Simulated", "message": "this node exists only in the API"}},
			"nodeInfo": map[string]any{
				"kubeletVersion": version, "kubeProxyVersion": version, "containerRuntimeVersion": "simulated://0",
				"operatingSystem": "linux", "architecture": "amd64", "osImage": "", "kernelVersion": "",
				"machineID": name, "systemUUID": name, "bootID": name,
			},
		},
	}
}
