package training

import (
	"encoding/json"
	"fmt"

	"stoic/schema"
)

// Cluster holds the settings of the cluster in which the operator serves a kind.
type Cluster struct {
	// Domain is the cluster's DNS domain, which is appended to host names ("cluster.local"), or empty.
	Domain string
	// WaitFor returns the init containers, as JSON, that end when a host's name resolves; nil for none.
	WaitFor func(host string) []json.RawMessage
	// KubectlImage is the image that copies kubectl into the launcher of an MPIJob; empty: the constant KubectlImage.
	KubectlImage string
	// Gang says which scheduler places pods together.
	Gang Gang
}

const (
	// WaitImage and WaitTries are the defaults of WaitWith: 100 tries take 200 seconds.
	WaitImage = "alpine:3.10"
	WaitTries = 100
	// KubectlImage is the default of Cluster.KubectlImage.
	KubectlImage = "kubeflow/kubectl-delivery:latest"
	// WaitName is the name of the container of WaitWith.
	WaitName = "init-pytorch"
)

// WaitWith returns a Cluster.WaitFor with one small container, which looks up the name every two seconds. It fails after
// the given number of tries, so that the kubelet restarts it. Only pass names of replicas, which need no shell quoting.
func WaitWith(image string, tries int) func(host string) []json.RawMessage {
	type amounts struct {
		CPU    string `json:"cpu"`
		Memory string `json:"memory"`
	}
	type resources struct {
		Limits   amounts `json:"limits"`
		Requests amounts `json:"requests"`
	}
	return func(host string) []json.RawMessage {
		script := fmt.Sprintf("try=0; until nslookup %s; do try=$((try+1)); if [ $try -ge %d ]; then exit 1; fi; sleep 2; done", host, tries)
		return []json.RawMessage{schema.JSON(struct {
			Name            string    `json:"name"`
			Image           string    `json:"image"`
			ImagePullPolicy string    `json:"imagePullPolicy"`
			Command         []string  `json:"command"`
			Resources       resources `json:"resources"`
		}{WaitName, image, "IfNotPresent", []string{"sh", "-c", script}, resources{amounts{"100m", "20Mi"}, amounts{"50m", "10Mi"}}})}
	}
}
