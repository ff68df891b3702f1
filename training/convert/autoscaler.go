package convert

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"stoic/convert"
	"stoic/schema"
)

// metricType warns of an unknown metric type: the API server rejects it, unless it is newer than our libraries.
func metricType(r *convert.Reader, metric map[string]any) {
	kind, ok := metric["type"].(string)
	if !ok && metric["type"] != nil || slices.Contains(metricTypes, kind) {
		return
	}
	r.Enter("type")
	defer r.Leave()
	if r.WarningsFull() {
		return
	}
	found := "no type"
	if kind != "" {
		found = schema.Quote(kind)
	}
	r.Warning(schema.InvalidValue, found, convert.OneOf(metricTypes), schema.DidYouMean(kind, metricTypes, "the job runs without an autoscaler"))
}

var metricTypes = []string{
	string(autoscalingv2.ContainerResourceMetricSourceType), string(autoscalingv2.ExternalMetricSourceType),
	string(autoscalingv2.ObjectMetricSourceType), string(autoscalingv2.PodsMetricSourceType), string(autoscalingv2.ResourceMetricSourceType),
}
