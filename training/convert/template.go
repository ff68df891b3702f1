package convert

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"stoic/convert"
	"stoic/training"
)

// template returns the pod template in normal form: as the user wrote it, with the parts that all replicas share.
// It is only called if no problem was reported. It copies each map that it changes.
func (d *draft) template(e *convert.Encoder, kind *training.Kind) []byte {
	raw, _ := d.pod.raw["spec"].(map[string]any)
	spec := maps.Clone(raw)
	spec["restartPolicy"] = d.Restart.Pod()
	if policy := spec["dnsPolicy"]; spec["hostNetwork"] == true && (policy == nil || policy == "") {
		// The default of the API server, ClusterFirst, is the DNS of the node here, which does not know the other replicas.
		spec["dnsPolicy"] = string(corev1.DNSClusterFirstWithHostNet)
	}
	if d.pod.defaultPort {
		list, _ := spec["containers"].([]any)
		containers := slices.Clone(list)
		trainer, _ := containers[d.pod.training].(map[string]any)
		trainer = maps.Clone(trainer)
		ports, _ := trainer["ports"].([]any)
		trainer["ports"] = append(slices.Clone(ports),
			map[string]any{"name": kind.Port.Name, "containerPort": int64(kind.Port.Number)})
		containers[d.pod.training] = trainer
		spec["containers"] = containers
	}
	template := map[string]any{"spec": spec}
	raw, _ = d.pod.raw["metadata"].(map[string]any)
	meta := map[string]any{}
	for _, key := range []string{"labels", "annotations", "finalizers"} {
		if raw[key] != nil {
			meta[key] = raw[key]
		}
	}
	if len(meta) > 0 {
		template["metadata"] = meta
	}
	return bytes.Clone(e.Encode(template))
}
