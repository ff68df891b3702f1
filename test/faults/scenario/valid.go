package scenario

import (
	"cmp"
	"fmt"

	"stoic/controller/watch"
	jobs "stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
	"stoic/training/operator"
)

// watchesOf returns the watches of kinds of training jobs.
func watchesOf(all ...*jobs.Kind) func() []watch.Watch {
	return func() []watch.Watch { return operator.Watches(all, nil) }
}

// validJobs returns jobs of every kind with a field of each sort. Their pods run on any cluster.
func validJobs() (all []func(name string) string) {
	const elastic = "  elasticPolicy: {minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}\n"
	for _, v := range []struct {
		kind    *jobs.Kind
		options string // of the spec
		plain   string // a replica type beside the workers
	}{
		{kinds.JAXJob(), "", ""},
		{kinds.MPIJob(), "  slotsPerWorker: 1\n  mainContainer: mpi\n", "Launcher"},
		{kinds.PaddleJob(), "", "Master"},
		{kinds.PaddleJob(), elastic, ""},
		{kinds.PyTorchJob(), "  nprocPerNode: \"2\"\n", "Master"},
		{kinds.PyTorchJob(), elastic, ""},
		{kinds.TFJob(), "  successPolicy: AllWorkers\n  enableDynamicWorker: false\n", "PS"},
		{kinds.XGBoostJob(), "", "Master"},
		{v2beta1.MPIJob(), "  slotsPerWorker: 1\n  sshAuthMountPath: /home/mpi/.ssh\n  launcherCreationPolicy: AtStartup\n  mpiImplementation: OpenMPI\n", "Launcher"},
	} {
		all = append(all, func(name string) string { return validJob(v.kind, v.options, v.plain, name) })
	}
	return all
}

// validJob returns a job with one worker that has many fields, and one replica of another type if one is named.
func validJob(kind *jobs.Kind, options, plain, name string) string {
	container := cmp.Or(kind.Container, "main")
	if plain != "" {
		plain = fmt.Sprintf("    %s: {replicas: 1, template: {spec: {containers: [{name: %s, image: \"training:1\"}]}}}\n", plain, container)
	}
	head := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, labels: {team: vision}, annotations: {note: any text}}\n", kind.APIVersion(), kind.Name, name)
	return head + validPolicy + options + "  " + kind.ReplicaSpecsField + ":\n" + plain + fmt.Sprintf(validWorker, container)
}

const validPolicy = `spec:
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 3
    activeDeadlineSeconds: 86400
    ttlSecondsAfterFinished: 3600
    suspend: false
    schedulingPolicy: {minAvailable: 1, queue: team, scheduleTimeoutSeconds: 60, minResources: {cpu: 10m, memory: 1Mi}}
`

// validWorker is a replica type; its container has that name.
const validWorker = `    Worker:
      replicas: 1
      restartPolicy: OnFailure
      template:
        metadata: {labels: {tier: "3"}, annotations: {sidecar.istio.io/inject: "false"}}
        spec:
          terminationGracePeriodSeconds: 1
          priority: 0
          tolerations: [{key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]
          affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}]}}
          securityContext: {runAsUser: 1000, fsGroup: 2000}
          volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}, {name: settings, configMap: {name: settings, optional: true, items: [{key: a, path: a, mode: 256}]}}]
          initContainers: [{name: fetch, image: "training:1", command: [fetch]}]
          containers:
          - name: %s
            image: training:1
            imagePullPolicy: IfNotPresent
            command: [python, /opt/train.py]
            args: [--steps, "1000"]
            env: [{name: LEVEL, value: "3"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
            ports: [{name: metrics, containerPort: 9090, protocol: TCP}]
            resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {cpu: 10m, memory: 2Mi}}
            volumeMounts: [{name: scratch, mountPath: /scratch, readOnly: false}]
            livenessProbe: {exec: {command: ["true"]}, periodSeconds: 600}
            securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`
