package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// batchJobKey is the key under which a cluster keeps the batch/v1 Job of the launcher.
const batchJobKey = "Job j-launcher"

// anyMPIV2Beta1 draws an empty cluster with a job whose launcher a batch/v1 Job runs.
func anyMPIV2Beta1(t *rapid.T) *cluster {
	w := newCluster()
	w.become(v2beta1.MPIJob())
	restart := rapid.SampledFrom([]string{"OnFailure", "Never"})
	replicaSpec := func(name string, replicas int) replicaTypeKnobs {
		return replicaTypeKnobs{Replicas: &replicas, Restart: restart.Draw(t, "policy of "+name), Ports: []training.Port{},
			Template: `{"spec":{"containers":[{"name":"main","image":"mpi"}]}}`}
	}
	all := w.anyKnobs(t)
	w.knobs = knobs{Clean: all.Clean, TTL: all.TTL, Deadline: all.Deadline, Backoff: all.Backoff, Suspend: all.Suspend, Gang: all.Gang, Native: all.Native,
		ReplicaTypes: map[string]replicaTypeKnobs{"Launcher": replicaSpec("Launcher", 1)}, MPI: map[string]any{
			"runLauncherAsWorker":    rapid.Bool().Draw(t, "launcher works"),
			"launcherCreationPolicy": rapid.SampledFrom([]string{"", "AtStartup", "WaitForWorkersReady"}).Draw(t, "creation"),
			"mpiImplementation":      rapid.SampledFrom([]string{"", "OpenMPI", "Intel", "MPICH"}).Draw(t, "implementation"),
		}}
	if rapid.Bool().Draw(t, "workers") {
		w.ReplicaTypes["Worker"] = replicaSpec("Worker", rapid.IntRange(1, 3).Draw(t, "number of workers"))
	}
	return w
}

// observeBatch returns what the controller observes: Jobs separately, and nothing that it does not watch.
func (w *cluster) observeBatch(t *rapid.T) Observed {
	o := w.observe()
	o.Services = nil
	o.Dependents = slices.DeleteFunc(o.Dependents, func(e training.StoredDependent) bool {
		if e.Resource == schema.Jobs() {
			var body map[string]any
			if err := kjson.Unmarshal(w.bodies["Job "+e.Name], &body); err != nil {
				t.Fatal(err)
			}
			o.BatchJobs = append(o.BatchJobs, training.BatchJob{BatchState: training.BatchStateOf(body), Child: schema.Child{Namespace: w.meta.Namespace,
				Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion, Created: e.Created, Deleting: e.Deleting}})
		}
		return e.Resource == schema.Jobs() || slices.Contains(w.kind.Unwatched, e.Resource)
	})
	return o
}

// happenToBatch changes the batch/v1 Job as its controller, a user or an attacker would.
func (w *cluster) happenToBatch(t *rapid.T) {
	e := w.dependents[batchJobKey]
	if e == nil {
		return
	}
	number := rapid.SampledFrom([]any{nil, int64(0), int64(1), int64(7), int64(-1), int64(1 << 62), "x"})
	switch rapid.IntRange(0, 4).Draw(t, "of the Job") {
	case 0, 1:
		status := map[string]any{"active": number.Draw(t, "active"), "failed": number.Draw(t, "failed")}
		if rapid.Bool().Draw(t, "started") {
			status["startTime"] = w.now.Format(time.RFC3339)
		}
		if end := rapid.SampledFrom([]string{"", "", "Complete", "Failed", "Odd"}).Draw(t, "end"); end != "" {
			status["conditions"] = []any{map[string]any{"type": end, "status": "True", "reason": rapid.SampledFrom([]string{"", "BackoffLimitExceeded", "a\nb"}).Draw(t, "reason"),
				"message": rapid.String().Draw(t, "message")}}
			status["completionTime"] = rapid.SampledFrom([]any{nil, "soon", w.now.Format(time.RFC3339)}).Draw(t, "completed")
		}
		w.bodies[batchJobKey] = merged(w.bodies[batchJobKey], schema.JSON(map[string]any{"status": status}))
	case 2:
		spec := map[string]any{"suspend": rapid.Bool().Draw(t, "suspended"), "backoffLimit": number.Draw(t, "limit"),
			"template": rapid.SampledFrom([]any{nil, map[string]any{}, map[string]any{"spec": map[string]any{"nodeSelector": map[string]any{"a": "b"}}}}).Draw(t, "template")}
		w.bodies[batchJobKey] = merged(w.bodies[batchJobKey], schema.JSON(map[string]any{"spec": spec}))
	case 3:
		e.Deleting = true
	}
}

// brokenBatch checks the rules for a plan with batch/v1 Jobs. Objects that are created together with them have no order among pods.
func brokenBatch(o Observed, p Plan) (broken []string) {
	over := terminal(&o.Head.Status) != "" && o.Rejection == nil || o.Head.Ledger.Terminal != "" && o.Rejection == nil
	var made []string
	for _, c := range p.Create {
		key := c.Resource.Plural + "/" + c.Name
		if over || !json.Valid(c.Body) || slices.Contains(made, key) {
			broken = append(broken, fmt.Sprintf("creates %s, over %t: %s", key, over, c.Body))
		}
		made = append(made, key)
		if c.Resource == schema.Jobs() && (len(o.BatchJobs) > 0 || c.Name != "j-launcher") {
			broken = append(broken, "creates "+key+" beside another")
		}
	}
	p.Create = slices.DeleteFunc(slices.Clone(p.Create), func(c schema.Object) bool {
		return c.Resource == schema.Jobs() || slices.Contains(o.Head.Kind.Unwatched, c.Resource)
	})
	if len(o.BatchJobs) > 0 { // their patches are held to uid and resourceVersion by the cluster
		p.Patch = slices.DeleteFunc(slices.Clone(p.Patch), func(u Patch) bool { return u.Resource == schema.Jobs() })
	}
	return append(broken, brokenRules(o, p)...)
}

// TestWhateverHappensToBatch is TestWhateverHappens for a job whose launcher a batch/v1 Job runs.
func TestWhateverHappensToBatch(t *testing.T) {
	jobs := 0
	rapid.Check(t, func(t *rapid.T) {
		w := anyMPIV2Beta1(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			o := w.observeBatch(t)
			before := copyStatus(o.Head.Status)
			p := Make(o)
			for _, broken := range brokenBatch(o, p) {
				t.Fatalf("%s\nplan: %+v\nobserved: %+v", broken, p, o)
			}
			if diff := gocmp.Diff(before, o.Head.Status); diff != "" {
				t.Fatalf("the observed status was changed: %s", diff)
			}
			if again := Make(shuffled(t, o)); !reflect.DeepEqual(p, again) {
				t.Fatalf("another order, another plan: %s", gocmp.Diff(p, again))
			}
			p.Create = slices.DeleteFunc(p.Create, func(c schema.Object) bool { // the engine takes what is there as made
				return w.dependents[c.Resource.Kind+" "+c.Name] != nil && slices.Contains(w.kind.Unwatched, c.Resource) || c.Resource == schema.Services() && w.services[c.Name] != nil
			})
			if err := w.apply(p); err != nil {
				t.Fatal(err)
			}
			if w.gone {
				return
			}
			if w.dependents[batchJobKey] != nil {
				jobs++
			}
			w.happenToBatch(t)
			rtypes := w.ReplicaTypes
			w.happen(t)
			w.ReplicaTypes = rtypes // those that are drawn for all kinds are not legal here
		}
	})
	if jobs == 0 {
		t.Error("no step with a batch/v1 Job")
	}
}
