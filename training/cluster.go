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
	// AddedUser is the user of added init containers in pods that must not run as root and name no user; 0: DefaultAddedUser.
	// With a negative number no user is set, for clusters whose admission assigns one.
	AddedUser int64
}

const (
	// WaitImage and WaitTries are the defaults of WaitWith: 100 tries take 200 seconds.
	WaitImage = "alpine:3.10"
	WaitTries = 100
	// KubectlImage is the default of Cluster.KubectlImage.
	KubectlImage = "kubeflow/kubectl-delivery:latest"
	// DefaultAddedUser is the default of Cluster.AddedUser: nobody.
	DefaultAddedUser = 65534
	// WaitName is the name of the container of WaitWith.
	WaitName = "init-pytorch"
	// KubectlName is the name of the container that copies kubectl into the launcher of an MPIJob.
	KubectlName = "kubectl-delivery"
)

// IsAddedContainer reports whether a container of that name is one that the operator adds to pods, not the user. Its
// restarts do not count: the container that waits for the master fails by design while the master waits for a node.
func IsAddedContainer(name string) bool { return name == WaitName || name == KubectlName }

// WaitWith returns a Cluster.WaitFor with one small container, which looks up the name every two seconds. It fails after
// the given number of tries, so that the kubelet restarts it. Only pass names of replicas, which need no shell quoting.
func WaitWith(image string, tries int) func(host string) []json.RawMessage {
	return func(host string) []json.RawMessage {
		script := fmt.Sprintf("try=0; until nslookup %s; do try=$((try+1)); if [ $try -ge %d ]; then exit 1; fi; sleep 2; done", host, tries)
		return []json.RawMessage{schema.JSON(struct {
			Name            string   `json:"name"`
			Image           string   `json:"image"`
			ImagePullPolicy string   `json:"imagePullPolicy"`
			Command         []string `json:"command"`
		}{WaitName, image, "IfNotPresent", []string{"sh", "-c", script}})}
	}
}
