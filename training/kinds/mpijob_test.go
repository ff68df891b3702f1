package kinds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
)

// mpi returns an MPIJob of these templates, lowered; an empty template omits the replica type.
func mpi(options *MPIJobOptions, launcher, worker string, workers int) *training.Job {
	job := &training.Job{Head: &training.Head{Kind: MPIJob()}}
	job.Meta.Name, job.Meta.Namespace = "pi", "team"
	for i, template := range []string{launcher, worker} {
		if template != "" {
			replicas := []int{1, workers}[i]
			job.ReplicaTypes = append(job.ReplicaTypes, training.ReplicaType{KnownReplicaType: job.Kind.ReplicaTypes[i], Replicas: replicas, Template: []byte(template)})
		}
	}
	job.Kind.Lower(job, options)
	return job
}

func podWith(container string) string { return `{"spec":{"containers":[` + container + `]}}` }

// TestMPIEnvironment: variables of the launcher, in their order, which is that of training-operator; a worker has none.
func TestMPIEnvironment(t *testing.T) {
	const open = "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile "
	const noGPU = "NVIDIA_VISIBLE_DEVICES= NVIDIA_DRIVER_CAPABILITIES= "
	const intel = "I_MPI_HYDRA_BOOTSTRAP=rsh I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh "
	const open5 = "PRTE_MCA_plm_ssh_agent=/etc/mpi/kubexec.sh PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile "
	const mpich = "HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC=/etc/mpi/kubexec.sh"
	const iface = " HYDRA_IFACE=eth0"
	for name, c := range map[string]struct{ launcher, want string }{
		"plain":          {podWith(`{}`), open + noGPU + intel + open5 + mpich + iface},
		"GPU":            {podWith(`{"resources":{"limits":{"nvidia.com/gpu":1}}}`), open + intel + open5 + mpich + iface},
		"GPU of others":  {podWith(`{},{"resources":{"limits":{"aliyun.com/gpu-mem":1}}}`), open + intel + open5 + mpich + iface},
		"only asked for": {podWith(`{"resources":{"requests":{"nvidia.com/gpu":1}}}`), open + noGPU + intel + open5 + mpich + iface},
		"host network":   {`{"spec":{"hostNetwork":true,"containers":[{}]}}`, open + noGPU + intel + open5 + mpich},
	} {
		job := mpi(nil, c.launcher, podWith(`{}`), 2)
		var got []string
		for _, v := range job.Kind.Environment(job)(job.ReplicaType("Launcher"), 0) {
			got = append(got, v.Name+"="+v.Value)
		}
		if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := job.Kind.Environment(job)(job.ReplicaType("Worker"), 0); got != nil {
			t.Errorf("%s: a worker gets %v", name, got)
		}
	}
}

// TestMPIEnvironmentOfNameWithDot: Open MPI does not cut the names of workers at a dot, unless the user says so.
func TestMPIEnvironmentOfNameWithDot(t *testing.T) {
	job := mpi(nil, podWith(`{}`), podWith(`{}`), 2)
	job.Meta.Name = "my.job"
	var got []string
	for _, v := range job.Kind.Environment(job)(job.ReplicaType("Launcher"), 0) {
		if strings.Contains(v.Name, "fqdn") && v.UserWins {
			got = append(got, v.Name+"="+v.Value)
		}
	}
	want := []string{"OMPI_MCA_orte_keep_fqdn_hostnames=true", "PRTE_MCA_prte_keep_fqdn_hostnames=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMPIFiles(t *testing.T) {
	gpu := podWith(`{"resources":{"limits":{"nvidia.com/gpu":1}}}`)
	for name, c := range map[string]struct {
		job                      *training.Job
		running                  []int
		hosts, discover, execute string
	}{
		"plain":       {mpi(nil, podWith(`{}`), podWith(`{}`), 2), []int{0}, "pi-worker-0 slots=1\npi-worker-1 slots=1\n", "#!/bin/sh\necho pi-worker-0:1", "${POD_NAME} --"},
		"slots":       {mpi(&MPIJobOptions{SlotsPerWorker: ptr[int32](4)}, podWith(`{}`), podWith(`{}`), 1), nil, "pi-worker-0 slots=4\n", "#!/bin/sh", "${POD_NAME} --"},
		"no slots":    {mpi(&MPIJobOptions{SlotsPerWorker: ptr[int32](0)}, podWith(`{}`), podWith(`{}`), 1), nil, "pi-worker-0 slots=0\n", "#!/bin/sh", "${POD_NAME} --"},
		"GPU":         {mpi(nil, gpu, podWith(`{}`), 1), []int{0}, "pi-launcher slots=1\npi-worker-0 slots=1\n", "#!/bin/sh\necho pi-launcher:1\n\necho pi-worker-0:1", "${POD_NAME} --"},
		"GPU alone":   {mpi(nil, gpu, "", 0), nil, "pi-launcher slots=1\n", "#!/bin/sh\necho pi-launcher:1\n", "${POD_NAME} --"},
		"sorted":      {mpi(nil, podWith(`{}`), podWith(`{}`), 0), []int{2, 10}, "", "#!/bin/sh\necho pi-worker-10:1\necho pi-worker-2:1", "${POD_NAME} --"},
		"a container": {mpi(&MPIJobOptions{MainContainer: "main"}, podWith(`{}`), podWith(`{"name":"main"}`), 0), nil, "", "#!/bin/sh", "${POD_NAME} --container main --"},
	} {
		own, _ := c.job.Own.(mpiJob)
		if diff := cmp.Diff(c.hosts, mpiHosts(c.job, own)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.discover, mpiRunning(c.job, own, mpiNames(c.job, c.running))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		want := "#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec " + c.execute + ` /bin/sh -c "$*"`
		if diff := cmp.Diff(want, mpiScript(own)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A rule for pods/exec always has the names of the given pods: without names it would grant access to all pods of the namespace.
func TestMPIRules(t *testing.T) {
	job := mpi(nil, podWith(`{}`), podWith(`{}`), 3)
	for want, running := range map[string][]int{"": nil, "pi-worker-0": {0}, "pi-worker-0 pi-worker-2": {0, 2}} {
		got := ""
		for _, rule := range mpiRules(job, running) {
			if rule.Resources[0] == "pods/exec" {
				if got = strings.Join(rule.ResourceNames, " "); got == "" {
					t.Errorf("%v run: all pods may be entered", running)
				}
			}
		}
		if got != want {
			t.Errorf("%v run: %q", running, got)
		}
	}
	if rules := mpiRules(mpi(nil, podWith(`{}`), "", 0), []int{}); len(rules) != 1 {
		t.Errorf("without workers: %+v", rules)
	}
}

// The computed size is an upper bound of the ConfigMap's size, and not far from it.
func TestMPIConfigSize(t *testing.T) {
	for _, workers := range []int{0, 1, 10, 101, 2345} {
		job := mpi(&MPIJobOptions{SlotsPerWorker: ptr[int32](16)}, podWith(`{}`), podWith(`{}`), workers)
		own, _ := job.Own.(mpiJob)
		all := make([]int, workers)
		for i := range all {
			all[i] = i
		}
		written := len(mpiHosts(job, own)) + len(mpiRunning(job, own, mpiNames(job, all))) + len(mpiScript(own))
		if bound := mpiConfigSize(job, own); bound < written || bound > written+1<<10 {
			t.Errorf("%d workers: %d bytes, said to be %d", workers, written, bound)
		}
	}
	job := mpi(nil, podWith(`{}`), podWith(`{}`), 2)
	job.Meta.Name = strings.Repeat("x", 50)
	job.ReplicaType("Worker").Replicas = training.MaxReplicas
	problems := job.Kind.Lower(job, nil)
	if len(problems) != 1 || problems[0].Path != "spec.mpiReplicaSpecs.Worker.replicas" {
		t.Errorf("%+v", problems)
	}
}
