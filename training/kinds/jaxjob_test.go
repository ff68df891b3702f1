package kinds

import (
	"testing"

	"stoic/training"
)

// jax returns a JAXJob of "TYPE:replicas" or "TYPE:replicas:port", lowered.
func jax(rtypes ...string) *training.Job {
	job := jobOf(JAXJob(), "gemma", rtypes)
	job.Kind.Lower(job, nil)
	return job
}

// TestJAXEnvironment: the variables, in their order, which is that of training-operator.
func TestJAXEnvironment(t *testing.T) {
	checkEnvironment(t, map[string]environmentCase{
		"coordinator": {jax("Worker:3"), "Worker", 0, "PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=gemma-worker-0 NUM_PROCESSES=3 PROCESS_ID=0"},
		"another":     {jax("Worker:3"), "Worker", 2, "PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=gemma-worker-0 NUM_PROCESSES=3 PROCESS_ID=2"},
		"own port":    {jax("Worker:1:1234"), "Worker", 0, "PYTHONUNBUFFERED=1 COORDINATOR_PORT=1234 COORDINATOR_ADDRESS=gemma-worker-0 NUM_PROCESSES=1 PROCESS_ID=0"},
	})
}
