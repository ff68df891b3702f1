package kinds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/training"
)

// paddle returns a PaddleJob of "TYPE:replicas" or "TYPE:replicas:port", lowered.
func paddle(policy *PaddleElasticPolicySpec, rtypes ...string) *training.Job {
	job := jobOf(PaddleJob(), "ernie", rtypes)
	job.Kind.Lower(job, &PaddleJobOptions{ElasticPolicy: policy})
	return job
}

// TestPaddleEnvironment: the variables, in their order, which is that of training-operator.
func TestPaddleEnvironment(t *testing.T) {
	const own = "POD_IP_DUMMY=field:status.podIP PADDLE_MASTER=$(POD_IP_DUMMY):"
	elastic := &PaddleElasticPolicySpec{MinReplicas: ptr[int32](1), MaxReplicas: ptr[int32](8)}
	checkEnvironment(t, map[string]environmentCase{
		"collective, first":   {paddle(nil, "Worker:2"), "Worker", 0, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=2 " + own + "36543"},
		"collective, another": {paddle(nil, "Worker:2:1234"), "Worker", 1, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=2 PADDLE_MASTER=ernie-worker-0:1234"},
		"elastic":             {paddle(elastic, "Worker:2"), "Worker", 1, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=2 PADDLE_MASTER=ernie-worker-0:36543"},
		"server, first":       {paddle(nil, "Master:2:1234", "Worker:3:4321"), "Master", 0, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=5 " + own + "1234 PADDLE_SERVER_NUM=1"},
		"server, another":     {paddle(nil, "Master:2", "Worker:3"), "Master", 1, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=5 PADDLE_MASTER=ernie-master-0:36543 PADDLE_SERVER_NUM=1"},
		"trainer":             {paddle(nil, "Master:2:1234", "Worker:3:4321"), "Worker", 0, "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=ernie PADDLE_NNODES=5 PADDLE_MASTER=ernie-master-0:1234 PADDLE_TRAINER_NUM=1"},
	})
}

// TestSizesOfEveryKind: a pod with the environment in many containers is rejected if it would be too large for an API server.
func TestSizesOfEveryKind(t *testing.T) {
	template := []byte(`{"spec":{"containers":[` + strings.Repeat(`{"image":"a","name":"a"},`, 19_999) + `{"image":"a","name":"a"}]}}`)
	for _, kind := range All() {
		if !kind.EnvEverywhere {
			continue
		}
		job := jobOf(kind, "wide", []string{"Master:1", "Worker:2"})
		var want []string
		for i := range job.ReplicaTypes {
			job.ReplicaTypes[i].Template = template
			want = append(want, "spec."+kind.ReplicaSpecsField+"."+job.ReplicaTypes[i].Name+".template.spec.containers")
		}
		var got []string
		for _, p := range kind.Lower(job, kind.Options()) {
			if p.Code != schema.TooLarge {
				t.Errorf("%s: %s", kind.Name, p)
			}
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", kind.Name, diff)
		}
	}
}
