package training_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/training"
)

// TestAddedInitContainers: what admits the training container admits the added container.
func TestAddedInitContainers(t *testing.T) {
	const plain = `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}`
	for name, c := range map[string]struct {
		spec      string // of the template
		container string // as the kind adds it
		user      int64
		resources string
		security  string
	}{
		"nothing said": {spec: `{"containers":[{"name":"main"}]}`, security: plain},
		"resources": {spec: `{"containers":[{"name":"side","resources":{"limits":{"cpu":"9"}}},
			{"name":"main","resources":{"requests":{"cpu":"1","memory":"2Gi","nvidia.com/gpu":1},"limits":{"cpu":2,"ephemeral-storage":"1Gi"},"claims":[{"name":"c"}]}}]}`,
			resources: `{"limits":{"cpu":2,"ephemeral-storage":"1Gi"},"requests":{"cpu":"1","memory":"2Gi"}}`, security: plain},
		"restricted, by the pod": {spec: `{"securityContext":{"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"main"}]}`, security: plain},
		"restricted, by the container": {spec: `{"containers":[{"name":"main","securityContext":{"runAsNonRoot":true,"runAsUser":1000,"runAsGroup":2,"seccompProfile":{"type":"RuntimeDefault"},
			"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]}}}]}`,
			security: `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,"runAsGroup":2,"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}}`},
		"privileged": {spec: `{"containers":[{"name":"main","securityContext":{"privileged":true,"allowPrivilegeEscalation":true,"capabilities":{"add":["SYS_ADMIN"]},"procMount":"Unmasked"}}]}`, security: plain},
		"no root, by the pod, and the image says who": {spec: `{"securityContext":{"runAsNonRoot":true},"containers":[{"name":"main"}]}`,
			security: `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsUser":65534}`},
		"no root, by the container": {spec: `{"containers":[{"name":"main","securityContext":{"runAsNonRoot":true}}]}`, user: 7,
			security: `{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsNonRoot":true,"runAsUser":7}`},
		"the cluster assigns users": {spec: `{"securityContext":{"runAsNonRoot":true,"runAsUser":null},"containers":[{"name":"main"}]}`, user: -1, security: plain},
		"Windows": {spec: `{"os":{"name":"windows"},"containers":[{"name":"main","securityContext":{"runAsNonRoot":true,"windowsOptions":{"runAsUserName":"u"}}}]}`,
			security: `{"runAsNonRoot":true,"windowsOptions":{"runAsUserName":"u"}}`},
		"an administrator's": {spec: `{"containers":[{"name":"main","resources":{"limits":{"cpu":"1"}}}]}`, container: `{"name":"wait","resources":{},"securityContext":{"runAsUser":3}}`,
			resources: `{}`, security: `{"runAsUser":3}`},
		"unreadable": {spec: `{"securityContext":7,"containers":[{"name":"main","resources":{"limits":[]},"securityContext":"x"}]}`, security: plain},
		"no spec":    {spec: `7`, security: plain},
	} {
		t.Run(name, func(t *testing.T) {
			container := c.container
			if container == "" {
				container = `{"name":"wait"}`
			}
			kind := &training.Kind{Cluster: training.Cluster{AddedUser: c.user},
				Init: func(*training.Job, *training.ReplicaType) []json.RawMessage {
					return []json.RawMessage{[]byte(container)}
				}}
			job := &training.Job{Head: &training.Head{Kind: kind}}
			got := job.AddedInitContainers(&training.ReplicaType{Container: "main", Template: []byte(`{"spec":` + c.spec + `}`)})
			want := map[string]json.RawMessage{"name": json.RawMessage(`"wait"`)}
			if c.resources != "" {
				want["resources"] = json.RawMessage(c.resources)
			}
			if c.security != "" {
				want["securityContext"] = json.RawMessage(c.security)
			}
			if diff := cmp.Diff(string(schema.JSON(want)), string(got[0])); len(got) != 1 || diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := (&training.Job{Head: &training.Head{Kind: &training.Kind{}}}).AddedInitContainers(&training.ReplicaType{}); got != nil {
		t.Errorf("of a kind that adds none: %s", got)
	}
}
