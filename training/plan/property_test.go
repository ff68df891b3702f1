package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// batchJobKey is the key under which a cluster keeps the batch/v1 Job of the launcher.
const batchJobKey = "Job j-launcher"

// anyKnobs draws a job with small numbers, because the rules have small numbers in them.
func (w *cluster) anyKnobs(t *rapid.T) knobs {
	number := func(label string) *int64 {
		if !rapid.Bool().Draw(t, label+"?") {
			return nil
		}
		n := rapid.SampledFrom([]int64{0, 1, 3, 40, 10_000_000_000}).Draw(t, label)
		return &n
	}
	k := knobs{
		ReplicaTypes:  w.anyReplicaTypes(t),
		SuccessPolicy: rapid.SampledFrom([]string{"", "AllWorkers"}).Draw(t, "success"),
		Dynamic:       rapid.Bool().Draw(t, "dynamic"),
		Clean:         rapid.SampledFrom([]string{"All", "Running", "None"}).Draw(t, "clean"),
		TTL:           number("ttl"), Deadline: number("deadline"), Backoff: number("backoff"),
		Suspend: rapid.IntRange(0, 4).Draw(t, "suspend") == 0,
		Gang:    rapid.SampledFrom([]string{"", "", "volcano", "other"}).Draw(t, "gang"),
	}
	if w.runsBatch() {
		k.SuccessPolicy, k.Dynamic = "", false
		k.MPI = map[string]any{
			"runLauncherAsWorker":    rapid.Bool().Draw(t, "launcher works"),
			"launcherCreationPolicy": rapid.SampledFrom([]string{"", "AtStartup", "WaitForWorkersReady"}).Draw(t, "creation"),
			"mpiImplementation":      rapid.SampledFrom([]string{"", "OpenMPI", "Intel", "MPICH"}).Draw(t, "implementation"),
		}
		return k
	}
	if rapid.Bool().Draw(t, "grace") {
		k.Annotations = map[string]int64{"training.kubeflow.org/evaluator-grace-seconds": rapid.Int64Range(1, 60).Draw(t, "seconds")}
	}
	if k.Gang == "" {
		k.Native = rapid.SampledFrom([]string{"", "", "v1beta1", "v1alpha2", "v1alpha1", "none"}).Draw(t, "native")
	}
	if rapid.Bool().Draw(t, "elastic") {
		low := rapid.Int32Range(0, 4).Draw(t, "least workers")
		k.Elastic = &elasticKnobs{Min: &low, Metrics: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`[]`), json.RawMessage(`[{"type":"new"}]`)}).Draw(t, "metrics")}
	}
	return k
}

// anyCluster draws an empty cluster of any kind.
func anyCluster(t *rapid.T) *cluster {
	w := newCluster()
	if kind := rapid.SampledFrom(append(kinds.All(), v2beta1.MPIJob())).Draw(t, "kind"); kind != w.kind {
		w.become(kind)
	}
	return w
}

// runsBatch reports whether a batch/v1 Job runs the launcher.
func (w *cluster) runsBatch() bool { return slices.Contains(w.kind.DependentKinds, schema.Jobs()) }

func (w *cluster) anyReplicaTypes(t *rapid.T) map[string]replicaTypeKnobs {
	rtypes := map[string]replicaTypeKnobs{}
	if w.runsBatch() {
		for name, most := range map[string]int{"Launcher": 1, "Worker": rapid.IntRange(0, 3).Draw(t, "workers")} {
			rtypes[name] = replicaTypeKnobs{Replicas: &most, Restart: "OnFailure", Ports: []training.Port{},
				Template: `{"spec":{"containers":[{"name":"main","image":"mpi"}]}}`}
		}
		return rtypes
	}
	for _, kind := range w.kind.ReplicaTypes {
		name := kind.Name
		if kind.Only != 0 {
			if kind.Required || rapid.Bool().Draw(t, name) {
				rtypes[name] = replicaTypeKnobs{Restart: rapid.SampledFrom(training.RestartPolicies()).Draw(t, "policy of "+name), Template: w.anyLauncher(t, kind.Required)}
			}
			continue
		}
		if name == "Master" && w.kind.ReplicaType("Chief") != nil { // the same as a chief
			continue
		}
		if rapid.Bool().Draw(t, name) {
			replicas := rapid.IntRange(0, 3).Draw(t, "replicas of "+name)
			rtypes[name] = replicaTypeKnobs{Replicas: &replicas, Restart: rapid.SampledFrom(training.RestartPolicies()).Draw(t, "policy of "+name)}
		}
	}
	if len(rtypes) == 0 {
		rtypes["Worker"] = replicaTypeKnobs{}
	}
	return rtypes
}

// anyLauncher draws the template of a launcher, which may discover its hosts; "" is the plain template.
func (w *cluster) anyLauncher(t *rapid.T, isLauncher bool) string {
	if !isLauncher || rapid.Bool().Draw(t, "static") {
		return ""
	}
	return fmt.Sprintf(`{"spec":{"containers":[{"name":"mpi","args":["--min-np","%d","--host-discovery-script","/d.sh"]}]}}`, rapid.IntRange(0, 4).Draw(t, "min-np"))
}

// happen changes something in the cluster, as a kubelet, a user or an attacker would.
func (w *cluster) happen(t *rapid.T) {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second / 2, time.Second, 30 * time.Second, time.Hour}).Draw(t, "pause"))
	names := slices.Sorted(maps.Keys(w.pods))
	pick := func() *training.Pod {
		if len(names) == 0 {
			return nil
		}
		return w.pods[rapid.SampledFrom(names).Draw(t, "pod")]
	}
	switch rapid.IntRange(0, 18).Draw(t, "event") {
	case 0, 1, 2, 3:
		if p := pick(); p != nil && p.Phase == corev1.PodPending {
			p.Phase = corev1.PodRunning
		}
	case 4:
		if p := pick(); p != nil && p.Phase == corev1.PodRunning {
			p.Phase = corev1.PodSucceeded
		}
	case 5, 6:
		if p := pick(); p != nil && p.Phase != corev1.PodSucceeded {
			p.Phase = corev1.PodFailed
			if rapid.Bool().Draw(t, "known") {
				p.Exits = []training.Exit{{Container: w.kind.Container, Code: rapid.SampledFrom([]int32{0, 1, 127, 128, 137, -1}).Draw(t, "code")}}
			}
			p.Failure = anyFailure(t, w.kind.Container)
			p.Disrupted = rapid.Bool().Draw(t, "disrupted")
		}
	case 7:
		if p := pick(); p != nil {
			p.Restarts = rapid.SampledFrom([]int64{0, 1, 2, 1 << 62, -1}).Draw(t, "restarts")
		}
	case 8:
		if p := pick(); p != nil {
			p.Deleting = true
		}
	case 9:
		if p := pick(); p != nil {
			delete(w.pods, p.Name)
		}
	case 10:
		w.change(nil, 1, step{Edit: []byte("{}")})
		if rapid.Bool().Draw(t, "replica types") {
			w.ReplicaTypes = w.anyReplicaTypes(t)
		} else {
			w.Suspend = !w.Suspend
		}
	case 11:
		w.meta.Generation++
		w.problems = nil
		if rapid.Bool().Draw(t, "malformed") {
			w.problems = []schema.Problem{{Code: schema.TypeMismatch, Path: "spec.x", Want: rapid.StringN(1, 9, -1).Draw(t, "want")}}
		}
	case 12:
		w.status = anyStatus(t)
	case 13:
		name := rapid.SampledFrom([]string{"j-worker-2000000000", "j-worker-9", "j-ps--1", "j-x-1", "worker-0", ""}).Draw(t, "orphan")
		w.pods[name] = &training.Pod{Name: name, UID: "orphan", ReplicaType: "worker", Phase: corev1.PodRunning}
	case 14:
		w.tamper(anyLedger(t, w))
	case 15:
		for key, e := range w.dependents {
			e.Phase = rapid.SampledFrom([]string{"", "Pending", "Inqueue", "Running", "\x00"}).Draw(t, "phase")
			e.Spec = rapid.SampledFrom([][]byte{e.Spec, nil, []byte("null"), []byte("7"), []byte(`{"minMember":"x"}`), []byte("{")}).Draw(t, "spec")
			if e.Deleting = rapid.Bool().Draw(t, "deleting"); rapid.Bool().Draw(t, "gone") {
				delete(w.dependents, key)
			}
		}
	case 18:
		if p := pick(); p != nil {
			p.Problem, p.Wait = anyProblem(t), anyWait(t)
		}
	case 17:
		w.priorities = rapid.SampledFrom([]training.Priorities{nil, {}, {"": 7}}).Draw(t, "priorities")
	case 16:
		w.unseen = rapid.SampledFrom([][]training.Unavailable{nil, {{Resource: training.PodGroups()}}, {{Resource: training.PluginPodGroups(), Why: "no"}}}).Draw(t, "unseen")
	}
	w.slow = rapid.Bool().Draw(t, "slow")
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

// anyFailure draws how a pod failed, as far as it is cached.
func anyFailure(t *rapid.T, container string) *training.PodFailure {
	seconds := rapid.SampledFrom([]int64{0, epoch.Unix() - 1, epoch.Unix(), epoch.Unix() + 7, math.MaxInt32})
	return rapid.Ptr(rapid.Custom(func(t *rapid.T) training.PodFailure {
		return training.PodFailure{
			Cause:      training.Cause{Reason: rapid.SampledFrom([]string{"", "Evicted", "DeadlineExceeded"}).Draw(t, "cause")},
			Disruption: rapid.SampledFrom([]string{"", "PreemptionByScheduler"}).Draw(t, "disruption"),
			Node:       rapid.SampledFrom([]string{"", "gpu-7"}).Draw(t, "node"), At: seconds.Draw(t, "at"),
			Ends: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) training.ContainerEnd {
				return training.ContainerEnd{Container: rapid.SampledFrom([]string{container, "side"}).Draw(t, "container"), Init: rapid.Bool().Draw(t, "init"),
					Code: rapid.Int32().Draw(t, "code"), Signal: rapid.SampledFrom([]int32{0, 9, -1}).Draw(t, "signal"), At: seconds.Draw(t, "end")}
			}), 0, 3).Draw(t, "ends"),
		}
	}), true).Draw(t, "failure")
}

// anyProblem draws the cached problem of a pod, including reasons of other versions.
func anyProblem(t *rapid.T) *training.PodProblem {
	reasons := []string{"", "OfAnotherVersion"}
	for _, kind := range training.PodProblemKinds() {
		reasons = append(reasons, kind.Reason)
	}
	return rapid.Ptr(rapid.Custom(func(t *rapid.T) training.PodProblem {
		return training.PodProblem{Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Detail: rapid.String().Draw(t, "detail")}
	}), true).Draw(t, "problem")
}

// anyWait draws what the cache keeps of a pod that waits.
func anyWait(t *rapid.T) *training.PodWait {
	names := rapid.SampledFrom([]string{"", "a", "b"})
	moments := rapid.SampledFrom([]time.Time{{}, epoch, epoch.Add(time.Hour), epoch.AddDate(900, 0, 0)})
	return rapid.Ptr(rapid.Custom(func(t *rapid.T) training.PodWait {
		return training.PodWait{Node: names.Draw(t, "node"), NodeLost: rapid.Bool().Draw(t, "lost"), Scheduler: names.Draw(t, "scheduler"),
			Init: names.Draw(t, "init"), Ended: moments.Draw(t, "ended"), RunsOn: names.Draw(t, "runs on"),
			Ending: rapid.Ptr(rapid.Custom(func(t *rapid.T) training.Ending {
				return training.Ending{At: moments.Draw(t, "deleted"), Finalizers: rapid.SliceOfN(names, 0, 2).Draw(t, "finalizers")}
			}), true).Draw(t, "ending")}
	}), true).Draw(t, "wait")
}

// settle removes terminating children.
func (w *cluster) settle() {
	maps.DeleteFunc(w.pods, func(_ string, p *training.Pod) bool { return p.Deleting })
	maps.DeleteFunc(w.services, func(_ string, s *training.Service) bool { return s.Deleting })
	maps.DeleteFunc(w.dependents, func(_ string, e *training.StoredDependent) bool { return e.Deleting })
}

// anyStatus draws a status that any client with permission to update it may have written, as far as it can be read.
func anyStatus(t *rapid.T) training.Status {
	times := rapid.Custom(func(t *rapid.T) metav1.Time {
		return rapid.SampledFrom([]metav1.Time{{}, {Time: epoch}, {Time: epoch.Add(time.Hour)}, {Time: epoch.AddDate(-900, 0, 0)}, {Time: epoch.AddDate(7000, 0, 0)}}).Draw(t, "time")
	})
	types := []training.ConditionType{training.Created, training.Running, training.Restarting, training.Suspended, training.Succeeded, training.Failed, training.Stalled, "Odd"}
	s := training.Status{
		Conditions: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) training.Condition {
			return training.Condition{
				Type:    rapid.SampledFrom(types).Draw(t, "type"),
				Status:  rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"),
				Reason:  rapid.SampledFrom([]string{"", "TFJobRunning", training.ReasonInvalidSpec}).Draw(t, "reason"),
				Message: rapid.String().Draw(t, "message"), LastUpdateTime: times.Draw(t, "updated"), LastTransitionTime: times.Draw(t, "since"),
			}
		}), 0, 4).Draw(t, "conditions"),
		ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {Active: rapid.Int32().Draw(t, "active"), Failed: rapid.Int32().Draw(t, "failed")}, "Boss": {}},
		Unclean:         rapid.Bool().Draw(t, "unclean"),
	}
	if rapid.Bool().Draw(t, "started") {
		at := times.Draw(t, "start")
		s.StartTime = &at
	}
	if rapid.Bool().Draw(t, "completed") {
		at := times.Draw(t, "completion")
		s.CompletionTime = &at
	}
	return s
}

// shuffled returns the same observation in another order.
func shuffled(t *rapid.T, o Observed) Observed {
	r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
	o.Pods, o.Services, o.Dependents = slices.Clone(o.Pods), slices.Clone(o.Services), slices.Clone(o.Dependents)
	r.Shuffle(len(o.Dependents), func(i, j int) { o.Dependents[i], o.Dependents[j] = o.Dependents[j], o.Dependents[i] })
	r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	r.Shuffle(len(o.Services), func(i, j int) { o.Services[i], o.Services[j] = o.Services[j], o.Services[i] })
	return o
}

// TestWhateverHappens makes plans for any sequence of events. No plan breaks a rule, a plan depends only on the
// observation and does not change it, and after its execution the same plan is not made again.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyCluster(t)
		w.knobs = w.anyKnobs(t)
		w.prune = rapid.Bool().Draw(t, "prune") && !w.runsBatch() // its CRD is new
		w.aging = rapid.Bool().Draw(t, "aging")
		for range rapid.IntRange(1, 25).Draw(t, "reconciles") {
			o := w.observe()
			before := training.Head{Status: copyStatus(o.Head.Status)}
			p := Make(o)
			checkPlan(t, o, p)
			if diff := gocmp.Diff(before.Status, o.Head.Status); diff != "" {
				t.Fatalf("the observed status was changed: %s", diff)
			}
			if again := Make(shuffled(t, o)); !reflect.DeepEqual(p, again) {
				t.Fatalf("another order, another plan: %s", gocmp.Diff(p, again))
			}
			if w.crash(t, p) {
				continue
			}
			if err := w.apply(p); err != nil {
				t.Fatal(err)
			}
			if w.gone {
				return
			}
			if again := Make(w.observe()); again.Ledger != nil {
				t.Fatalf("on record twice: %+v\nand %+v", p.Ledger, again.Ledger)
			}
			if again := Make(w.observe()); again.Status != nil {
				// The next plan may only have more writes if the cluster changed: deleted objects no longer exist. A launcher's Job
				// is first taken for one that is not seen yet, and one that this plan has resumed waits for its pod from then on.
				jobChanged := w.runsBatch() && (o.Head.Status.ObservedGeneration == 0 || len(p.Patch) > 0)
				if p.Delete == nil && !jobChanged {
					t.Fatalf("written twice: %+v\nand %+v", p.Status, again.Status)
				}
			}
			w.happen(t)
			w.happenToBatch(t)
			if w.meta.DeletionTimestamp == nil && rapid.IntRange(0, 15).Draw(t, "the job is deleted") == 0 {
				finalizer := rapid.SampledFrom([]string{"example.com/hold", metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}).Draw(t, "finalizer")
				w.change(nil, 1, step{Delete: true, Finalizers: []string{finalizer}})
			}
		}
	})
}

func copyStatus(s training.Status) training.Status {
	s.Conditions = slices.Clone(s.Conditions)
	s.ReplicaStatuses = maps.Clone(s.ReplicaStatuses)
	s.StartTime, s.CompletionTime = s.StartTime.DeepCopy(), s.CompletionTime.DeepCopy()
	return s
}
