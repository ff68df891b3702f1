//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/e2e/supplies"
)

// regression trains one weight to be 3 by gradients that are the means over all ranks, each of which has other data.
const regression = `import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.full((4, 1), 1.0 + rank)
for step in range(60):
    optimizer.zero_grad()
    ((model(x) - 3 * x) ** 2).mean().backward()
    optimizer.step()
print(f"trained: rank {rank} of {size} has {model.module.weight.item():.3f}", flush=True)
dist.barrier()
`

// dataParallel: three replicas of a PyTorchJob find each other only by MASTER_ADDR, RANK and the number of processes, and train one model.
func dataParallel(t *testing.T, s *system) {
	s.needs(t, supplies.Torch)
	ns := s.namespace(t, "ddp")
	replica := fmt.Sprintf(`template: {spec: {containers: [{name: pytorch, image: %q, command: %s}]}}`, supplies.Torch, quoted([]string{"python3", "-c", regression}))
	s.kubectl(t, fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: ddp}
spec:
  runPolicy: {cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Master: {%s}
    Worker: {replicas: 2, %[1]s}
`, replica), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "pytorchjob/ddp")
	for rank, pod := range []string{"ddp-master-0", "ddp-worker-0", "ddp-worker-1"} {
		want := []string{fmt.Sprintf("trained: rank %d of 3 has 3.000", rank)}
		if diff := cmp.Diff(want, s.lines(t, ns, pod, "trained")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pod, diff)
		}
	}
}

// endurance sums numbers with the others, until a file at rank 0 stops it.
const endurance = `import os, time, torch, torch.distributed as dist
def say(text): os.write(1, (text + "\n").encode()) # in one piece: two processes share the log
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
say(f"round {os.environ['TORCHELASTIC_RESTART_COUNT']}: rank {rank} of {size}")
while True:
    stop = torch.tensor([1.0 if os.path.exists("/tmp/stop") else 0.0])
    dist.all_reduce(stop)
    if stop.item() > 0: break
    time.sleep(0.1)
say(f"done: rank {rank} of {size}")
`

// elastic: two workers of two processes each meet by torchrun's own rendezvous. One of the pods is deleted; the operator
// recreates it, and all four processes continue together.
func elastic(t *testing.T, s *system) {
	s.needs(t, supplies.Torch)
	ns := s.namespace(t, "elastic")
	command := quoted([]string{"python3", "-m", "torch.distributed.run", "--no_python", "python3", "-c", endurance})
	s.kubectl(t, fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: run}
spec:
  runPolicy: {cleanPodPolicy: None}
  nprocPerNode: "2"
  elasticPolicy: {minReplicas: 2, maxReplicas: 2, rdzvBackend: c10d, maxRestarts: 5}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template:
        spec:
          terminationGracePeriodSeconds: 5
          containers: [{name: pytorch, image: %q, command: %s}]
`, supplies.Torch, command), "apply", "--namespace="+ns, "-f", "-")
	together := func() {
		t.Helper()
		s.kubectl(t, "", "wait", "--for=condition=Ready", "--timeout=2m", "--namespace="+ns, "pod/run-worker-1")
		s.says(t, ns, "run-worker-1", " of 4\n", 2)
	}
	together()
	before := s.uid(t, ns, "pod/run-worker-1")
	s.kubectl(t, "", "delete", "pod", "run-worker-1", "--namespace="+ns, "--wait=false")
	s.await(t, ns, "another pod", func() (bool, string) {
		uid, err := s.try("", "get", "pod", "run-worker-1", "--namespace="+ns, "--output=jsonpath={.metadata.uid}")
		return err == nil && uid != before, uid
	})
	together()
	for _, worker := range []string{"run-worker-0", "run-worker-1"} {
		s.kubectl(t, "", "exec", "--namespace="+ns, worker, "--", "touch", "/tmp/stop")
	}
	s.succeeds(t, ns, "pytorchjob/run")
	done := slices.Concat(s.lines(t, ns, "run-worker-0", "done"), s.lines(t, ns, "run-worker-1", "done"))
	slices.Sort(done)
	if diff := cmp.Diff([]string{"done: rank 0 of 4", "done: rank 1 of 4", "done: rank 2 of 4", "done: rank 3 of 4"}, done); diff != "" {
		t.Errorf("who was there at the end (-want +got):\n%s", diff)
	}
}
