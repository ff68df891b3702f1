//go:build linux

package node

import (
	"crypto/x509/pkix"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"stoic/test/e2e/supplies"
)

// name is the name of the node.
const name = "node"

// cgroup is the parent of the cgroups that the kubelet creates for pods.
const cgroup = "stoic-e2e"

const (
	store       = "etcd"
	server      = "kube-apiserver"
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	runtime     = "containerd"
	kubelet     = "kubelet"
	names       = "coredns"
	admin       = "admin"

	socket   = "/run/containerd/containerd.sock"
	storeURL = "http://127.0.0.1:2379"
)

// identities writes a key for each part, and one for the test.
func identities(dir string) error {
	a, err := newAuthority(dir)
	if err != nil {
		return err
	}
	for _, user := range []struct{ file, name, group string }{
		{admin, "admin", "system:masters"},
		{"to-kubelet", server, "system:masters"},
		{controllers, "system:" + controllers, ""},
		{scheduler, "system:" + scheduler, ""},
		{kubelet, "system:node:" + name, "system:nodes"},
		{names, names, "system:masters"},
	} {
		var groups []string
		if user.group != "" {
			groups = []string{user.group}
		}
		if err := a.client(user.file, user.name, groups...); err != nil {
			return err
		}
	}
	for _, file := range []string{"server", "serving-kubelet"} {
		if err := a.issue(file, pkix.Name{CommonName: file}); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) storeArguments() []string {
	return []string{store, "--name=e2e", "--data-dir=" + n.path("etcd"), "--listen-client-urls=" + storeURL, "--advertise-client-urls=" + storeURL,
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=e2e=http://127.0.0.1:2380",
		"--unsafe-no-fsync", "--log-level=warn"} // the data need not survive a power failure
}

// serverArguments: a cluster's defaults are on, including the permissions of nodes and service accounts.
func (n *Node) serverArguments() []string {
	return []string{server, "--etcd-servers=" + storeURL, "--bind-address=0.0.0.0", "--secure-port=443", "--advertise-address=" + nodeAddress,
		"--tls-cert-file=" + n.secret("server.crt"), "--tls-private-key-file=" + n.secret("server.key"), "--client-ca-file=" + n.secret(authorityFile),
		"--service-account-key-file=" + n.secret(tokensFile), "--service-account-signing-key-file=" + n.secret(tokensFile),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-certificate-authority=" + n.secret(authorityFile), "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + n.secret("to-kubelet.crt"), "--kubelet-client-key=" + n.secret("to-kubelet.key"),
		"--profiling=false", "--shutdown-delay-duration=0s"}
}

func (n *Node) controllerArguments() []string {
	return append([]string{controllers, "--root-ca-file=" + n.secret(authorityFile), "--service-account-private-key-file=" + n.secret(tokensFile),
		"--use-service-account-credentials=true"}, n.componentArguments(controllers)...)
}

func (n *Node) schedulerArguments() []string {
	return append([]string{scheduler}, n.componentArguments(scheduler)...)
}

func (n *Node) componentArguments(part string) []string {
	own := "=" + n.secret(part+".kubeconfig")
	return []string{"--kubeconfig" + own, "--authentication-kubeconfig" + own, "--authorization-kubeconfig" + own, "--bind-address=127.0.0.1",
		"--leader-elect=false", "--profiling=false"}
}

func (n *Node) kubeletArguments() []string {
	return []string{"--config=" + n.path("kubelet.yaml"), "--kubeconfig=" + n.secret(kubelet+".kubeconfig"), "--hostname-override=" + name,
		"--node-ip=" + nodeAddress}
}

// configure writes the files that the parts read.
func (n *Node) configure(s *supplies.Supplies) error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	for file, content := range map[string]string{
		"containerd.toml":   fmt.Sprintf(runtimeConfig, supplies.Pause, s.Debian("usr/lib/cni"), n.path("cni"), s.Debian("usr/sbin/runc"), n.path("opt")),
		"cni/pods.conflist": fmt.Sprintf(networkConfig, bridge, podNetwork, nodeAddress),
		"kubelet.yaml": fmt.Sprintf(kubeletConfig, socket, cgroup, min(files.Max, 1_000_000), namesAddress, n.path("volume-plugins"), n.secret(authorityFile),
			n.secret("serving-kubelet.crt"), n.secret("serving-kubelet.key")),
		"Corefile": fmt.Sprintf(namesConfig, namesAddress, n.secret(names+".kubeconfig")),
	} {
		path := n.path(file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make a folder for %s: %w", file, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return nil
}

// runtimeConfig: a process without all capabilities cannot lower the OOM score of a pause container.
const runtimeConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = %q
[plugins."io.containerd.internal.v1.opt"]
  path = %q
`

const networkConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": %q, "isGateway": true, "ipMasq": false,
  "hairpinMode": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": %q, "gateway": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

// kubeletConfig: images are never removed, since none can be pulled again; a full disk is not part of the test.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://%s
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
oomScoreAdj: 0
maxOpenFiles: %d
makeIPTablesUtilChains: false
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [%s]
resolvConf: ""
volumePluginDir: %s
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
tlsCertFile: %s
tlsPrivateKeyFile: %s
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
`

// namesConfig has no cache: a name that is looked up before its pod is up would stay unknown.
const namesConfig = `.:53 {
    bind %s
    errors
    ready 127.0.0.1:8181
    kubernetes cluster.local in-addr.arpa {
        kubeconfig %s
    }
}
`
