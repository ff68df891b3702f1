package plane

import (
	"fmt"
	"strconv"
	"strings"

	"stoic/localcluster/simulation"
)

// The parts, by the names under which this program runs them.
const (
	store       = "etcd"
	apiserver   = "kube-apiserver"
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	kubelets    = "kwok"
)

// ports are the loopback ports of one attempt to start.
type ports struct {
	Store       int `json:"etcd"`
	Peer        int `json:"etcdPeer"`
	Server      int `json:"kubeAPIServer"`
	Definitions int `json:"apiextensionsAPIServer"`
	Controllers int `json:"kubeControllerManager"`
	Scheduler   int `json:"kubeScheduler"`
	Kubelets    int `json:"kwok"`
}

func address(port int) string { return "https://127.0.0.1:" + strconv.Itoa(port) }

// health is where the part tells whether it is ready, and which words its answer
// then holds beside its status 200. The controller manager answers 200 before it has
// made its controllers; an API server that goes away meanwhile ends it. Once they
// are made, the answer has a line for each.
func (p ports) health(part string) (url, words string) {
	switch part {
	case store:
		return address(p.Store) + "/health", ""
	case apiserver:
		return address(p.Server) + "/readyz", ""
	case definitionsServer:
		return address(p.Definitions) + "/readyz", ""
	case controllers:
		return address(p.Controllers) + "/healthz?verbose", "[+]namespace-controller ok"
	case scheduler:
		return address(p.Scheduler) + "/healthz", ""
	}
	return "http://127.0.0.1:" + strconv.Itoa(p.Kubelets) + "/healthz", ""
}

// arguments are the part's flags.
func (l layout) arguments(part string, p ports, o Options) []string {
	switch part {
	case store:
		if o.isKine() {
			return l.kineArguments(p, o)
		}
		return l.storeArguments(p, o)
	case apiserver:
		return l.serverArguments(p, o)
	case definitionsServer:
		return l.definitionsServerArguments(p, o)
	case controllers:
		return l.controllerArguments(p, o)
	case scheduler:
		return l.schedulerArguments(p, o)
	}
	return l.kubeletArguments(p)
}

func (l layout) storeArguments(p ports, o Options) []string {
	client, peer := address(p.Store), address(p.Peer)
	crt, key, ca := l.secret("server.crt"), l.secret("server.key"), l.secret("ca.crt")
	return []string{
		"--name=local", "--data-dir=" + l.data(o),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=local=" + peer,
		"--cert-file=" + crt, "--key-file=" + key, "--trusted-ca-file=" + ca, "--client-cert-auth",
		"--peer-cert-file=" + crt, "--peer-key-file=" + key, "--peer-trusted-ca-file=" + ca, "--peer-client-cert-auth",
		// The data need not survive a power cut, and small snapshots keep memory low.
		"--unsafe-no-fsync", "--snapshot-count=5000", "--log-level=warn",
	}
}

func (l layout) serverArguments(p ports, o Options) []string {
	args := append(l.storeClientArguments(p),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(p.Server),
		"--tls-cert-file="+l.secret("server.crt"), "--tls-private-key-file="+l.secret("server.key"),
		"--client-ca-file="+l.secret("ca.crt"),
		"--service-account-key-file="+l.secret("tokens.pub"),
		"--service-account-signing-key-file="+l.secret("tokens.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
		// Pods here have no service account token, and nodes have no kubelet whose
		// reports would take the taint away again.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		// Nobody reaches the service "kubernetes": a loopback address cannot be its
		// endpoint.
		"--endpoint-reconciler-type=none", "--advertise-address=127.0.0.1",
		// A test that is throttled measures the throttle.
		"--enable-priority-and-fairness=false", "--max-requests-inflight=3000", "--max-mutating-requests-inflight=3000",
		"--profiling=false", "--shutdown-delay-duration=0s",
	)
	if o.isAggregated() {
		args = append(args, l.aggregationArguments()...)
	}
	if o.History {
		// Nothing else in this control plane compacts the store.
		args = append(args, "--etcd-compaction-interval=0")
	}
	if o.GangScheduling {
		gates, served := o.gang()
		args = append(args, gates, served)
	}
	if o.Strict {
		args = append(args, strictArguments()...)
	}
	if o.Audit {
		args = append(args, "--audit-policy-file="+l.config("audit.json"), "--audit-log-path="+l.audit(),
			"--audit-log-maxsize=0") // one file: whoever counts requests reads all of them
	}
	return args
}

// strictArguments: who makes an object whose owner is to wait for it must have the right to update the owner's finalizers, and who
// watches must list first, as with API servers that do not stream lists.
func strictArguments() []string {
	return []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", noWatchLists}
}

const noWatchLists = "--feature-gates=WatchList=false"

// chosenControllers leave out what has no meaning without clouds, volumes and
// real kubelets. The node lifecycle is out because nobody renews leases.
func chosenControllers() []string {
	return []string{
		"garbage-collector-controller", "namespace-controller", "resourcequota-controller",
		"endpoints-controller", "endpointslice-controller", "pod-garbage-collector-controller",
		"deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller",
		"job-controller", "cronjob-controller", "ttl-after-finished-controller", "disruption-controller",
		"serviceaccount-controller", "clusterrole-aggregation-controller", "taint-eviction-controller",
		"replicationcontroller-controller",
	}
}

func (l layout) controllerArguments(p ports, o Options) []string {
	chosen, features := chosenControllers(), []string(nil)
	if o.GangScheduling {
		gates, _ := o.gang()
		chosen, features = append(chosen, "podgroup-protection-controller"), []string{gates}
	}
	return append(append(l.componentArguments(controllers, p.Controllers), features...),
		"--kubeconfig="+l.config(controllers+".kubeconfig"),
		"--leader-elect=false",
		"--controllers="+strings.Join(chosen, ","),
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--concurrent-gc-syncs=50", "--concurrent-namespace-syncs=20", "--concurrent-resource-quota-syncs=10",
		"--concurrent-endpoint-syncs=10", "--concurrent-service-endpoint-syncs=10",
		"--profiling=false",
	)
}

func (l layout) schedulerArguments(p ports, o Options) []string {
	args := append(l.componentArguments(scheduler, p.Scheduler), "--config="+l.config("scheduler.json"))
	if o.GangScheduling {
		gates, _ := o.gang()
		args = append(args, gates)
	}
	return args
}

// gang are the feature gates and the API of gang scheduling in the release, which are off unless they are asked for: alpha in Kubernetes
// 1.36, beta in 1.37.
func (o Options) gang() (gates, served string) {
	if strings.HasPrefix(o.Version, "v1.36.") {
		return "--feature-gates=GenericWorkload=true,GangScheduling=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"
	}
	return "--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"
}

// componentArguments are common to the controller manager and the scheduler.
func (l layout) componentArguments(name string, port int) []string {
	own := "=" + l.config(name+".kubeconfig")
	return []string{
		"--authentication-kubeconfig" + own, "--authorization-kubeconfig" + own,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + l.secret("server.crt"), "--tls-private-key-file=" + l.secret("server.key"),
	}
}

func (l layout) kubeletArguments(p ports) []string {
	return []string{
		"--config=" + l.config("kwok.yaml"), "--kubeconfig=" + l.config(kubelets+".kubeconfig"),
		"--manage-all-nodes=true", "--cidr=10.128.0.0/10", "--node-lease-duration-seconds=0", "--v=WARN",
		"--server-address=127.0.0.1:" + strconv.Itoa(p.Kubelets), // tells that it is ready
	}
}

// configurations writes the files that the parts' flags name.
func (l layout) configurations() error {
	schedulerConfig := fmt.Sprintf(`{
  "apiVersion": "kubescheduler.config.k8s.io/v1",
  "kind": "KubeSchedulerConfiguration",
  "clientConnection": {"kubeconfig": %q, "qps": 500, "burst": 1000},
  "leaderElection": {"leaderElect": false},
  "podInitialBackoffSeconds": 1,
  "podMaxBackoffSeconds": 2
}
`, l.config(scheduler+".kubeconfig"))
	return write(map[string][]byte{
		l.config("scheduler.json"): []byte(schedulerConfig),
		l.config("audit.json"):     []byte(auditPolicy),
		l.config("kwok.yaml"):      append([]byte(kubeletSettings), simulation.Stages()...),
	})
}

// kubeletSettings come before the stages: kwok has no flags for them, and no
// defaults for what a settings file leaves out.
const kubeletSettings = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 16
  nodePlayStageParallelism: 4
  nodeLeaseParallelism: 1
  podsOnNodeSyncParallelism: 4
---
`

// auditPolicy leaves out what the control plane does by itself, except for its
// changes of pods and the like; a test counts the requests of its own users.
// In the namespace "audited" each write of a pod has its answer, which is the
// pod at a resourceVersion: a test can replay them. Elsewhere that would cost
// whoever makes thousands of pods.
const auditPolicy = `{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "users": ["system:apiserver"]},
    {"level": "None", "users": ["system:kube-controller-manager", "system:kube-scheduler", "simulated-kubelets"], "verbs": ["get", "list", "watch"]},
    {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*", "/version", "/openapi*"]},
    {"level": "RequestResponse", "namespaces": ["audited"], "resources": [{"group": "", "resources": ["pods", "pods/*"]}],
      "verbs": ["create", "update", "patch", "delete", "deletecollection"], "omitManagedFields": true},
    {"level": "Request", "verbs": ["delete", "deletecollection"]},
    {"level": "Metadata"}
  ]
}
`
