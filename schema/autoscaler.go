package schema

import (
	"bytes"
	"encoding/json"
)

// cpuLoad is what the API takes for metrics if there are none. It is written out, so that a later look finds no
// difference.
const cpuLoad = `[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]`

// pyAutoscaler changes the number of workers of an elastic job, if its author says by which metrics. These go out as
// written: they may be younger than our libraries.
func pyAutoscaler(job *Job) []Extra {
	own, _ := job.Own.(pyTorchJob)
	if own.elastic == nil || job.Verbatim == nil {
		return nil
	}
	metrics := json.RawMessage(job.Verbatim)
	if bytes.Equal(metrics, []byte("[]")) {
		metrics = json.RawMessage(cpuLoad)
	}
	return []Extra{{Resource: Autoscalers(), Spec: map[string]json.RawMessage{
		"scaleTargetRef": JSON(struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		}{job.Kind.APIVersion(), job.Kind.Name, job.Meta.Name}),
		"minReplicas": JSON(own.elastic.MinReplicas), "maxReplicas": JSON(own.elastic.MaxReplicas), "metrics": metrics,
	}}}
}
