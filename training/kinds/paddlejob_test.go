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

func TestPaddleSuccess(t *testing.T) {
	elastic := &PaddleElasticPolicySpec{}
	for name, c := range map[string]struct {
		job  *training.Job
		want training.Success
	}{
		"masters": {paddle(nil, "Master:2", "Worker:3"), training.Success{ReplicaType: "Master", Rule: training.SuccessAll, Whole: true}},
		"workers": {paddle(nil, "Worker:3"), training.Success{ReplicaType: "Worker", Rule: training.SuccessAll}},
		"elastic": {paddle(elastic, "Worker:3"), training.Success{ReplicaType: "Worker", Rule: training.SuccessAll}},
		"nothing": {paddle(elastic), training.Success{}},
	} {
		if c.job.Success != c.want {
			t.Errorf("%s: got %+v, want %+v", name, c.job.Success, c.want)
		}
	}
}

func TestPaddleCheck(t *testing.T) {
	for name, c := range map[string]struct {
		policy *PaddleElasticPolicySpec
		rtypes []string
		want   []string
	}{
		"not elastic":      {nil, []string{"Master:1"}, nil},
		"elastic":          {&PaddleElasticPolicySpec{MinReplicas: ptr[int32](1), MaxReplicas: ptr[int32](1)}, []string{"Worker:1"}, nil},
		"elastic master":   {&PaddleElasticPolicySpec{}, []string{"Master:1"}, []string{"MissingField spec.paddleReplicaSpecs.Worker"}},
		"bounds":           {&PaddleElasticPolicySpec{MinReplicas: ptr[int32](3), MaxReplicas: ptr[int32](2)}, []string{"Worker:1"}, []string{"Conflict spec.elasticPolicy.minReplicas"}},
		"below nothing":    {&PaddleElasticPolicySpec{MinReplicas: ptr[int32](-1)}, []string{"Worker:1"}, []string{"OutOfRange spec.elasticPolicy.minReplicas"}},
		"more than can be": {&PaddleElasticPolicySpec{MaxReplicas: ptr[int32](training.MaxReplicas + 1)}, []string{"Worker:1"}, []string{"OutOfRange spec.elasticPolicy.maxReplicas"}},
		"restarts":         {&PaddleElasticPolicySpec{MaxRestarts: ptr[int32](3)}, []string{"Worker:1"}, []string{"warning MisplacedField spec.elasticPolicy.maxRestarts"}},
		"no masters":       {nil, []string{"Master:0", "Worker:1"}, []string{"ReplicaCount spec.paddleReplicaSpecs.Master.replicas"}},
	} {
		t.Run(name, func(t *testing.T) {
			job, options := jobOf(PaddleJob(), "ernie", c.rtypes), &PaddleJobOptions{ElasticPolicy: c.policy}
			problems, warnings := job.Kind.Check(options, func(rtype string) bool { return job.ReplicaType(rtype) != nil })
			var got []string
			for _, p := range append(problems, job.Kind.Lower(job, options)...) {
				got = append(got, string(p.Code)+" "+p.Path)
			}
			for _, p := range warnings {
				got = append(got, "warning "+string(p.Code)+" "+p.Path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if problems, warnings := PaddleJob().Check(7, func(string) bool { return true }); problems != nil || warnings != nil {
		t.Errorf("options of another kind: %v, %v", problems, warnings)
	}
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
