package access

import (
	"encoding/json"
	"fmt"
)

// ContextName is the context, cluster and user name in every kubeconfig.
const ContextName = "stoic"

type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	CurrentContext string         `json:"current-context"`
	Clusters       []namedCluster `json:"clusters"`
	Contexts       []namedContext `json:"contexts"`
	Users          []namedUser    `json:"users"`
}

type namedCluster struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type cluster struct {
	Server    string `json:"server"`
	Authority []byte `json:"certificate-authority-data"`
}

type namedContext struct {
	Name    string            `json:"name"`
	Context map[string]string `json:"context"`
}

type namedUser struct {
	Name string `json:"name"`
	User user   `json:"user"`
}

type user struct {
	Certificate []byte  `json:"client-certificate-data"`
	Key         []byte  `json:"client-key-data"`
	Plugin      *plugin `json:"auth-provider,omitempty"`
}

type plugin struct {
	Name string `json:"name"`
}

// Kubeconfig is a self-contained kubeconfig for the client at the server. It is
// JSON, which is YAML too. Through names a plugin, known to the client's program,
// that all requests go through; it may be empty.
func (a *Authority) Kubeconfig(server string, client Pair, through string) ([]byte, error) {
	u := user{Certificate: client.Certificate, Key: client.Key}
	if through != "" {
		u.Plugin = &plugin{Name: through}
	}
	content, err := json.MarshalIndent(kubeconfig{
		APIVersion:     "v1",
		Kind:           "Config",
		CurrentContext: ContextName,
		Clusters:       []namedCluster{{Name: ContextName, Cluster: cluster{Server: server, Authority: a.pem}}},
		Contexts:       []namedContext{{Name: ContextName, Context: map[string]string{"cluster": ContextName, "user": ContextName}}},
		Users:          []namedUser{{Name: ContextName, User: u}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode a kubeconfig: %w", err)
	}
	return append(content, '\n'), nil
}
