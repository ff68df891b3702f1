package operator

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/internal/lean"
	"stoic/training"
	"stoic/training/kinds"
)

func TestRowOfAPod(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "3": 3, "-3": 0, "three": 0, "1e3": 0, "99999999999": training.MaxCount, "99999999999999999999": training.MaxCount} {
		p := &lean.Object{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{training.AnnotationRestartCount: text}}}
		if got := slimPod(p).(*training.PodState).ConsecutiveFailures; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// The restarts of all containers count, whenever they start, except those of the containers that the operator adds.
func TestRestartsOfAPod(t *testing.T) {
	restarted := func(name string, times int32) lean.Container { return lean.Container{Name: name, RestartCount: times} }
	for name, c := range map[string]struct {
		init, main []lean.Container
		want       int64
	}{
		"none":                       {nil, []lean.Container{restarted("pytorch", 0)}, 0},
		"the training container":     {nil, []lean.Container{restarted("pytorch", 3)}, 3},
		"an init container":          {[]lean.Container{restarted("download", 5)}, nil, 5},
		"sidecars, early and late":   {[]lean.Container{restarted("proxy", 2)}, []lean.Container{restarted("pytorch", 1), restarted("logs", 4)}, 7},
		"the wait for the master":    {[]lean.Container{restarted("download", 1), restarted("init-pytorch", 9)}, nil, 1},
		"the delivery of kubectl":    {[]lean.Container{restarted("kubectl-delivery", 9)}, []lean.Container{restarted("mpi", 1)}, 1},
		"fewer than none, by others": {[]lean.Container{restarted("download", -5)}, []lean.Container{restarted("pytorch", 2)}, 2},
	} {
		p := &lean.Object{Status: lean.Status{Phase: "Pending", InitContainers: c.init, Containers: c.main}}
		if got := slimPod(p).(*training.PodState).Restarts; got != c.want {
			t.Errorf("%s: %d restarts, want %d", name, got, c.want)
		}
	}
}

// A change of the cached state of a pod enqueues its job, and no other change does.
func TestWhatOfAPodWakes(t *testing.T) {
	pod := func() *training.PodState {
		return &training.PodState{ReplicaType: "worker", Phase: "Running", Exits: []training.Exit{{Container: "tensorflow", Code: 1}}, Restarts: 1, ConsecutiveFailures: 1,
			Problem: &training.PodProblem{Reason: training.ReasonPodUnschedulable, Detail: "0/3 nodes"},
			Ready:   true, Disrupted: true, Failure: &training.PodFailure{Cause: training.Cause{Reason: "Evicted", Message: "memory"}, Disruption: "TerminationByKubelet", Node: "n", At: 7,
				Ends: []training.ContainerEnd{{Container: "tensorflow", Code: 1, Reason: "Error", At: 7}}},
			Wait: &training.PodWait{Ending: &training.Ending{At: time.Unix(7, 0), Finalizers: []string{"a/b"}}, Node: "n"}}
	}
	for what, c := range map[string]struct {
		change func(*training.PodState)
		same   bool
	}{
		"nothing":          {func(*training.PodState) {}, true},
		"the replica type": {func(p *training.PodState) { p.ReplicaType = "ps" }, false},
		"the phase":        {func(p *training.PodState) { p.Phase = "Failed" }, false},
		"an exit":          {func(p *training.PodState) { p.Exits[0].Code = 2 }, false},
		"one more exit":    {func(p *training.PodState) { p.Exits = append(p.Exits, training.Exit{Container: "sidecar"}) }, false},
		"a restart":        {func(p *training.PodState) { p.Restarts++ }, false},
		"the problem":      {func(p *training.PodState) { p.Problem.Reason = training.ReasonPodSchedulingGated }, false},
		"its words":        {func(p *training.PodState) { p.Problem.Detail = "0/4 nodes" }, true},
		"readiness":        {func(p *training.PodState) { p.Ready = false }, false},
		"another cause":    {func(p *training.PodState) { p.Failure.Cause.Reason = "NodeLost" }, false},
		"whose fault":      {func(p *training.PodState) { p.Disrupted = false }, false},
		"a disruption":     {func(p *training.PodState) { p.Failure.Disruption = "PreemptionByScheduler" }, false},
		"its time":         {func(p *training.PodState) { p.Failure.At++ }, false},
		"the node":         {func(p *training.PodState) { p.Failure.Node = "m" }, false},
		"why it ended":     {func(p *training.PodState) { p.Failure.Ends[0].Reason = "OOMKilled" }, false},
		"the restarts ago": {func(p *training.PodState) { p.ConsecutiveFailures++ }, false},
		"its finalizers":   {func(p *training.PodState) { p.Wait.Ending.Finalizers = nil }, false},
		"its lost node":    {func(p *training.PodState) { p.Wait.NodeLost = true }, false},
		"a shorter grace":  {func(p *training.PodState) { p.Wait.Ending.At = time.Unix(6, 0) }, false},
	} {
		after := pod()
		c.change(after)
		if got := samePod(pod(), after); got != c.same {
			t.Errorf("%s: the same: %v, want %v", what, got, c.same)
		}
	}
	for i := range reflect.TypeFor[training.PodState]().NumField() {
		p := pod()
		reflect.ValueOf(p).Elem().Field(i).SetZero()
		if samePod(pod(), p) {
			t.Errorf("a change of %s is not seen", reflect.TypeFor[training.PodState]().Field(i).Name)
		}
	}
	if samePod(pod(), nil) || samePod(nil, pod()) {
		t.Error("nothing is taken for a pod")
	}
}

// A panic that training/convert recovers is passed to the engine, which counts and logs it.
func TestConvertHandsPanicsOn(t *testing.T) {
	broken := *kinds.TFJob()
	broken.Options = func() any { panic("oh") }
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": broken.Resource().APIVersion(), "kind": "TFJob",
		"metadata": map[string]any{"name": "a", "namespace": "ns"}, "spec": map[string]any{"tfReplicaSpecs": map[string]any{}}}}
	result := Convert(&broken, u)
	if result.Panic == nil || result.Panic.Cause != "oh" || len(result.Panic.Stack) == 0 || result.Rejection == nil || result.Meta.Name != "a" {
		t.Errorf("%+v", result)
	}
	if result := Convert(kinds.TFJob(), u); result.Panic != nil {
		t.Errorf("a converter that did not panic: %+v", result.Panic)
	}
}
