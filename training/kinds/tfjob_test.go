package kinds

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
)

// tf returns a TFJob of "TYPE:replicas" or "TYPE:replicas:port".
func tf(rtypes ...string) *training.Job { return jobOf(TFJob(), "mnist", rtypes) }

// jobOf returns a job of "TYPE:replicas" or "TYPE:replicas:port", not lowered.
func jobOf(kind *training.Kind, name string, rtypes []string) *training.Job {
	head := &training.Head{Kind: kind}
	head.Meta.Name, head.Meta.Namespace = name, "team-a"
	job := &training.Job{Head: head}
	for _, known := range kind.ReplicaTypes {
		for _, words := range rtypes {
			var name string
			rtype := training.ReplicaType{KnownReplicaType: known, Port: kind.Port.Number, Restart: kind.Restart}
			_, _ = fmt.Sscanf(strings.ReplaceAll(words, ":", " "), "%s %d %d", &name, &rtype.Replicas, &rtype.Port)
			if name == known.Name {
				job.ReplicaTypes = append(job.ReplicaTypes, rtype)
			}
		}
	}
	return job
}

func TestTFConfig(t *testing.T) {
	type replica struct {
		rtype string
		index int
		want  string
	}
	for name, test := range map[string]struct {
		job     *training.Job
		dynamic bool
		domain  string
		want    []replica
	}{
		"dense, every replica type in it": {
			job: tf("Chief:1", "PS:2:3333", "Worker:2", "Evaluator:1"),
			want: []replica{
				{"Chief", 0, `{"cluster":{"chief":["mnist-chief-0.team-a.svc:2222"],"evaluator":["mnist-evaluator-0.team-a.svc:2222"],"ps":["mnist-ps-0.team-a.svc:3333","mnist-ps-1.team-a.svc:3333"],"worker":["mnist-worker-0.team-a.svc:2222","mnist-worker-1.team-a.svc:2222"]},"task":{"type":"chief","index":0},"environment":"cloud"}`},
				{"Worker", 1, `{"cluster":{"chief":["mnist-chief-0.team-a.svc:2222"],"evaluator":["mnist-evaluator-0.team-a.svc:2222"],"ps":["mnist-ps-0.team-a.svc:3333","mnist-ps-1.team-a.svc:3333"],"worker":["mnist-worker-0.team-a.svc:2222","mnist-worker-1.team-a.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}`},
			},
		},
		"dense, a replica type without replicas": {
			job:  tf("Master:2", "Worker:0"),
			want: []replica{{"Master", 1, `{"cluster":{"master":["mnist-master-0.team-a.svc:2222","mnist-master-1.team-a.svc:2222"],"worker":[]},"task":{"type":"master","index":1},"environment":"cloud"}`}},
		},
		"dense, domain": {
			job: tf("PS:1", "Worker:1"), domain: "cluster.local",
			want: []replica{{"PS", 0, `{"cluster":{"ps":["mnist-ps-0.team-a.svc.cluster.local:2222"],"worker":["mnist-worker-0.team-a.svc.cluster.local:2222"]},"task":{"type":"ps","index":0},"environment":"cloud"}`}},
		},
		"one replica: not distributed":           {job: tf("Worker:1"), want: []replica{{"Worker", 0, ""}}},
		"one replica, dynamic":                   {job: tf("Worker:1"), dynamic: true, want: []replica{{"Worker", 0, ""}}},
		"one replica and a replica type without": {job: tf("Worker:0", "PS:1"), want: []replica{{"PS", 0, ""}}},
		"no replicas: told, though nobody hears": {job: tf("Worker:0"), want: []replica{{"Worker", 0, `{"cluster":{"worker":[]},"task":{"type":"worker","index":0},"environment":"cloud"}`}}},
		"sparse": {
			job: tf("Chief:1", "PS:2", "Worker:9"), dynamic: true, domain: "x.y",
			want: []replica{
				{"Worker", 8, `{"cluster":{"worker":{"8":"mnist-worker-8.team-a.svc.x.y:2222"},"ps":["mnist-ps-0.team-a.svc.x.y:2222","mnist-ps-1.team-a.svc.x.y:2222"]},"task":{"type":"worker","index":8}}`},
				{"PS", 1, `{"cluster":{"worker":{},"ps":["mnist-ps-1.team-a.svc.x.y:2222"]},"task":{"type":"ps","index":1}}`},
				{"Chief", 0, `{"cluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}}`},
			},
		},
		"sparse, no parameter servers": {
			job: tf("Worker:2"), dynamic: true,
			want: []replica{{"Worker", 0, `{"cluster":{"worker":{"0":"mnist-worker-0.team-a.svc:2222"},"ps":null},"task":{"type":"worker","index":0}}`}},
		},
		"sparse, parameter servers without replicas": {
			job: tf("Worker:2", "PS:0"), dynamic: true,
			want: []replica{{"Worker", 0, `{"cluster":{"worker":{"0":"mnist-worker-0.team-a.svc:2222"},"ps":[]},"task":{"type":"worker","index":0}}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if problems := test.job.Kind.Lower(test.job, &TFJobOptions{EnableDynamicWorker: test.dynamic}); problems != nil {
				t.Fatal(problems)
			}
			test.job.Kind = test.job.Kind.In(training.Cluster{Domain: test.domain})
			environment := test.job.Kind.Environment(test.job)
			for _, r := range test.want {
				got := environment(test.job.ReplicaType(r.rtype), r.index)
				var want []training.EnvVar
				if r.want != "" {
					want = []training.EnvVar{{Name: "TF_CONFIG", Value: r.want}}
					if !json.Valid([]byte(r.want)) {
						t.Error("no JSON is wanted")
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %d: %s", r.rtype, r.index, diff)
				}
			}
		})
	}
}

func TestLowerTFJob(t *testing.T) {
	all, typo, empty := "AllWorkers", "allworkers", ""
	for name, test := range map[string]struct {
		job        *training.Job
		options    any
		success    training.Success
		expendable bool
		codes      []schema.Code
	}{
		"chief":                 {tf("Chief:1", "Worker:2"), &TFJobOptions{}, training.Success{ReplicaType: "Chief", Rule: training.SuccessAll, Whole: true}, false, nil},
		"chief, all workers":    {tf("Chief:1", "Worker:2"), &TFJobOptions{SuccessPolicy: &all}, training.Success{ReplicaType: "Chief", Rule: training.SuccessAll, Whole: true}, false, nil},
		"chief of none":         {tf("Chief:0", "Worker:2"), &TFJobOptions{}, training.Success{ReplicaType: "Chief", Rule: training.SuccessAll, Whole: true}, false, []schema.Code{schema.ReplicaCount}},
		"master of none":        {tf("Master:0", "Worker:2"), &TFJobOptions{}, training.Success{ReplicaType: "Master", Rule: training.SuccessAll, Whole: true}, false, []schema.Code{schema.ReplicaCount}},
		"master":                {tf("Master:1", "PS:1"), &TFJobOptions{}, training.Success{ReplicaType: "Master", Rule: training.SuccessAll, Whole: true}, false, nil},
		"worker 0":              {tf("PS:1", "Worker:2"), &TFJobOptions{}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, nil},
		"worker 0, explicitly":  {tf("Worker:2"), &TFJobOptions{SuccessPolicy: &empty}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, nil},
		"all workers":           {tf("Worker:2"), &TFJobOptions{SuccessPolicy: &all}, training.Success{ReplicaType: "Worker", Rule: training.SuccessAll, Whole: false}, false, nil},
		"nobody":                {tf("PS:1", "Evaluator:1"), &TFJobOptions{}, training.Success{}, false, nil},
		"no options":            {tf("Worker:2"), nil, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, nil},
		"options of the wrong":  {tf("Worker:2"), 7, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, nil},
		"dynamic":               {tf("Worker:2", "PS:1"), &TFJobOptions{EnableDynamicWorker: true}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, true, nil},
		"dynamic, no worker":    {tf("PS:1"), &TFJobOptions{EnableDynamicWorker: true}, training.Success{}, false, nil},
		"unknown policy":        {tf("Worker:2"), &TFJobOptions{SuccessPolicy: &typo}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, []schema.Code{schema.InvalidValue}},
		"chief and master":      {tf("Chief:1", "Master:1"), &TFJobOptions{}, training.Success{ReplicaType: "Chief", Rule: training.SuccessAll, Whole: true}, false, []schema.Code{schema.Conflict}},
		"everything":            {tf("Chief:1", "Master:1", "Worker:20000"), &TFJobOptions{SuccessPolicy: &typo}, training.Success{ReplicaType: "Chief", Rule: training.SuccessAll, Whole: true}, false, []schema.Code{schema.InvalidValue, schema.Conflict, schema.TooLarge}},
		"too large":             {tf("Worker:20000"), &TFJobOptions{}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, []schema.Code{schema.TooLarge}},
		"large but sparse":      {tf("Worker:20000"), &TFJobOptions{EnableDynamicWorker: true}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, true, nil},
		"not a sensible number": {tf("Worker:2147483647", "PS:2147483647"), &TFJobOptions{}, training.Success{ReplicaType: "Worker", Rule: training.SuccessFirst, Whole: false}, false, []schema.Code{schema.TooLarge}},
		"no replica types":      {tf(), &TFJobOptions{}, training.Success{}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			problems, _ := test.job.Kind.Check(test.options, func(rtype string) bool { return test.job.ReplicaType(rtype) != nil })
			problems = append(problems, test.job.Kind.Lower(test.job, test.options)...)
			var codes []schema.Code
			for _, p := range problems {
				codes = append(codes, p.Code)
				if p.Path == "" || p.Found == "" || p.Want == "" || p.Hint == "" {
					t.Errorf("a problem without words: %+v", p)
				}
			}
			if diff := cmp.Diff(test.codes, codes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.success, test.job.Success); diff != "" {
				t.Error(diff)
			}
			for _, r := range test.job.ReplicaTypes {
				if r.Expendable != (test.expendable && r.Name == "Worker") {
					t.Errorf("%s expendable: %v", r.Name, r.Expendable)
				}
			}
		})
	}
}

// TestTFConfigSize: the computed size is never below that of the variable, and not much above.
func TestTFConfigSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(95, 120), rapid.IntRange(990, 1010))
		job := tf("PS:0:"+fmt.Sprint(rapid.SampledFrom([]int{1, 80, 2222, 65535}).Draw(t, "port")), "Worker:0", "Evaluator:0", "Chief:0")
		job.Meta.Name = rapid.StringMatching(`[a-z][a-z0-9-]{0,50}[a-z]`).Draw(t, "name")
		for i := range job.ReplicaTypes {
			job.ReplicaTypes[i].Replicas = replicas.Draw(t, "replicas")
		}
		if job.Replicas() == 1 {
			return
		}
		job.Kind.Lower(job, nil)
		size, environment := tfConfigSize(job), tfEnvironment(job)
		for i := range job.ReplicaTypes {
			rtype := &job.ReplicaTypes[i]
			if rtype.Replicas == 0 {
				continue
			}
			v := environment(rtype, rtype.Replicas-1)[0]
			if real := len(v.Name) + 1 + len(v.Value); real > size || real < size-30 {
				t.Fatalf("%d bytes, said to be %d", real, size)
			}
		}
	})
}

// TestTFConfigLimit finds the largest job and checks that its variable can be passed to a process.
func TestTFConfigLimit(t *testing.T) {
	n := 1
	for ; ; n++ {
		job := tf(fmt.Sprintf("Worker:%d", n+1), "PS:3")
		if len(job.Kind.Lower(job, nil)) > 0 {
			break
		}
	}
	job := tf(fmt.Sprintf("Worker:%d", n), "PS:3")
	v := tfEnvironment(job)(job.ReplicaType("Worker"), n-1)[0]
	if real := len(v.Name) + 1 + len(v.Value); real > variableLimit || real < variableLimit-100 {
		t.Errorf("%d workers make %d bytes of at most %d", n, real, variableLimit)
	}
}
