package convert

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

// TestWarnsAboutReplaced: the user is warned of what the operator replaces, and not of what the user wins.
func TestWarnsAboutReplaced(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"variables of the rendezvous": {`
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [{name: pytorch, image: i, env: [{name: A}, {name: RANK, value: "3"}, {name: PYTHONUNBUFFERED, value: mine}]}]}}}
    Worker: {template: {spec: {containers: [{name: side, image: i, env: [{name: PET_NNODES, value: "3"}]}, {name: pytorch, image: i}]}}}`,
			`
warning Conflict spec.pytorchReplicaSpecs.Master.template.spec.containers[0].env[1].name
warning Conflict spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].env[0].name`},
		"variables that this job does not get": {`
kind: PyTorchJob
spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: i, env: [{name: RANK}, {name: PET_RDZV_ID}]}]}}}}}`, ""},
		"processes, by a variable alone": {`
kind: PyTorchJob
spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: i, env: [{name: PET_NPROC_PER_NODE, value: "4"}]}]}}}}}`, ""},
		"processes, by both": {`
kind: PyTorchJob
spec: {nprocPerNode: "2", pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: i, env: [{name: PET_NPROC_PER_NODE, value: "4"}]}]}}}}}`, `
warning Conflict spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].env[0].name`},
		"TF_CONFIG of a single replica": {`
kind: TFJob
spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: i, env: [{name: TF_CONFIG}]}]}}}}}`, ""},
		"TF_CONFIG, in the training container and elsewhere": {`
kind: TFJob
spec: {tfReplicaSpecs: {worker: {replicas: 2, template: {spec: {containers: [{name: side, image: i, env: [{name: TF_CONFIG}]}, {name: tensorflow, image: i, env: [{name: TF_CONFIG}]}]}}}}}`, `
warning Conflict spec.tfReplicaSpecs.worker.template.spec.containers[1].env[0].name`},
		"MPI": {`
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: mpi, image: i, env: [{name: OMPI_MCA_plm_rsh_agent}, {name: HYDRA_LAUNCHER}, {name: NVIDIA_VISIBLE_DEVICES}]}]}}}
    Worker: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i, args: [sleep], env: [{name: OMPI_MCA_plm_rsh_agent}]}]}}}`, `
warning Conflict spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].env[0].name
warning Conflict spec.mpiReplicaSpecs.Worker.template.spec.containers[0].args`},
		"MPI, with a command": {`
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: mpi, image: i}]}}}
    Worker: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i, command: [sleep], args: ["1"]}]}}}`, ""},
		"names of pods, labels": {`
kind: MPIJob
apiVersion: kubeflow.org/v2beta1
spec:
  mpiReplicaSpecs:
    Launcher: {template: {metadata: {labels: {training.kubeflow.org/job-role: x}}, spec: {hostname: a, containers: [{name: mpi, image: i, env: [{name: OMPI_MCA_plm_rsh_args, value: -p 2222}, {name: OMPI_MCA_orte_default_hostfile}]}]}}}
    Worker: {replicas: 1, template: {spec: {hostname: a, subdomain: j, hostNetwork: true, dnsPolicy: Default, containers: [{name: mpi, image: i}]}}}`, `
warning Conflict spec.mpiReplicaSpecs.Launcher.template.metadata.labels["training.kubeflow.org/job-role"]
warning Conflict spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].env[1].name
warning Conflict spec.mpiReplicaSpecs.Launcher.template.spec.hostname
warning Conflict spec.mpiReplicaSpecs.Worker.template.spec.dnsPolicy
warning Conflict spec.mpiReplicaSpecs.Worker.template.spec.hostname`},
	} {
		t.Run(name, func(t *testing.T) { checkOutcome(t, c.manifest, run+c.want) })
	}
}

// TestWarnsAboutWaits: the user is warned of combinations with which a job can never start or never end.
func TestWarnsAboutWaits(t *testing.T) {
	pytorch := func(options, workers, command string) string {
		return `
kind: PyTorchJob
spec: {` + options + `pytorchReplicaSpecs: {Worker: {` + workers + `template: {spec: {containers: [{name: pytorch, image: i, command: [` + command + `]}]}}}}}`
	}
	jax := func(pod string) string {
		return `
kind: JAXJob
spec: {jaxReplicaSpecs: {Worker: {template: {spec: {` + pod + `, containers: [{name: jax, image: i}]}}}}}`
	}
	elastic := func(field string) string { return "\nwarning Conflict spec.elasticPolicy." + field }
	const dns = "\nwarning Conflict spec.jaxReplicaSpecs.Worker.template.spec.dnsPolicy"
	for name, c := range map[string]struct{ manifest, want string }{
		"fewer workers than the least": {pytorch("elasticPolicy: {minReplicas: 3, maxReplicas: 4}, ", "replicas: 2, ", "a"), elastic("minReplicas")},
		"more workers than the most":   {pytorch("elasticPolicy: {minReplicas: 1, maxReplicas: 2}, ", "replicas: 3, ", "a"), elastic("maxReplicas")},
		"an autoscaler adds them":      {pytorch("elasticPolicy: {minReplicas: 3, maxReplicas: 4, metrics: []}, ", "replicas: 2, ", "a"), ""},
		"etcd without a host":          {pytorch("elasticPolicy: {rdzvBackend: etcd-v2}, ", "", "a"), elastic("rdzvHost")},
		"etcd with a host":             {pytorch("elasticPolicy: {rdzvBackend: etcd, rdzvHost: h}, ", "", "a"), ""},
		"alone, together":              {pytorch("elasticPolicy: {standalone: true}, ", "replicas: 2, ", "a"), elastic("standalone")},
		"torchrun that meets nowhere":  {pytorch("", "replicas: 2, ", "torchrun, a.py"), "\nwarning Conflict spec.pytorchReplicaSpecs"},
		"torchrun that meets":          {pytorch("", "replicas: 2, ", "torchrun, --rdzv-endpoint=a, a.py"), ""},
		"a single worker":              {pytorch("", "", "torchrun, a.py"), ""},
		"another program":              {pytorch("", "replicas: 2, ", "python, a.py"), ""},
		"workers that never succeed":   {pytorch("", "restartPolicy: Always, ", "a"), "\nwarning Conflict spec.pytorchReplicaSpecs.Worker.restartPolicy"},
		"servers that never succeed, and a chief": {`
kind: TFJob
spec: {tfReplicaSpecs: {Chief: {template: {spec: {containers: [{name: tensorflow, image: i}]}}}, PS: {restartPolicy: Always, template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}`, ""},
		"servers alone": {`
kind: TFJob
spec: {tfReplicaSpecs: {PS: {template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}`, "\nwarning Conflict spec.tfReplicaSpecs"},
		"the network of the node":                  {jax("hostNetwork: true"), ""},
		"and a policy that works":                  {jax("hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet"), ""},
		"and a policy that does not":               {jax("hostNetwork: true, dnsPolicy: ClusterFirst"), dns},
		"the default policy of pods":               {jax("dnsPolicy: ClusterFirst"), ""},
		"the DNS of the node":                      {jax("dnsPolicy: Default"), dns},
		"other name servers, no search domains":    {jax("dnsPolicy: None, dnsConfig: {nameservers: [10.0.0.1]}"), dns},
		"other name servers, with a search domain": {jax("dnsPolicy: None, dnsConfig: {nameservers: [10.0.0.1], searches: [a.svc.cluster.local]}"), ""},
		"the DNS of the node, for a single replica": {`
kind: TFJob
spec: {tfReplicaSpecs: {Worker: {template: {spec: {dnsPolicy: Default, containers: [{name: tensorflow, image: i}]}}}}}`, ""},
		"a launcher without a token": {`
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {automountServiceAccountToken: false, containers: [{name: mpi, image: i}]}}}
    Worker: {replicas: 1, template: {spec: {automountServiceAccountToken: false, dnsPolicy: Default, containers: [{name: mpi, image: i}]}}}`, `
warning Conflict spec.mpiReplicaSpecs.Launcher.template.spec.automountServiceAccountToken`},
		"a launcher that mounts the token itself": {`
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          automountServiceAccountToken: false
          volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: token}}]}}]
          containers: [{name: mpi, image: i, volumeMounts: [{name: t, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]
    Worker: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i}]}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) { checkOutcome(t, c.manifest, run+c.want) })
	}
}

// TestHostNetworkDNS: a pod in the network of its node resolves the names of the cluster, unless the user chose a policy.
func TestHostNetworkDNS(t *testing.T) {
	for pod, want := range map[string]string{
		"hostNetwork: true": "ClusterFirstWithHostNet", `hostNetwork: true, dnsPolicy: ""`: "ClusterFirstWithHostNet", "hostNetwork: true, dnsPolicy: null": "ClusterFirstWithHostNet",
		"hostNetwork: true, dnsPolicy: Default": "Default", "hostNetwork: true, dnsPolicy: ClusterFirst": "ClusterFirst", "hostNetwork: false": "", "dnsPolicy: Default": "Default",
	} {
		job := checkOutcome(t, `
kind: MPIJob
spec:
  mpiReplicaSpecs: {Launcher: {template: {spec: {`+pod+`, containers: [{name: mpi, image: i}]}}}}`, run).Job
		var template struct {
			Spec struct {
				DNSPolicy string `json:"dnsPolicy"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(job.ReplicaTypes[0].Template, &template); err != nil || template.Spec.DNSPolicy != want {
			t.Errorf("%s: %q, %v, want %q", pod, template.Spec.DNSPolicy, err, want)
		}
	}
}

// checkOutcome converts a manifest without a name, of kubeflow.org/v1 if it says nothing else, and compares the outcome.
func checkOutcome(t *testing.T, manifest, want string) *Result {
	t.Helper()
	raw := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &raw); err != nil {
		t.Fatal(err)
	}
	if raw["apiVersion"] == nil {
		raw["apiVersion"] = "kubeflow.org/v1"
	}
	raw["metadata"] = map[string]any{"name": "j", "namespace": "ns"}
	for _, kind := range kinds.Served() {
		if kind.Name != raw["kind"] || kind.APIVersion() != raw["apiVersion"] {
			continue
		}
		result := Object(kind, &unstructured.Unstructured{Object: raw})
		if got := outcome(result); got != want {
			t.Errorf("got %s\nwant %s\n%v", got, want, result.Warnings)
		}
		return result
	}
	t.Fatalf("no kind %v", raw["kind"])
	return nil
}
