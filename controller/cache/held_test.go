//go:build !race

package cache

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/lean"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

// The budgets are per object in bytes. A cache holds each of these many times over, so they are a part of the
// operator's memory budget. A pod that cannot run costs more while it cannot: the reason is kept.
const podBudget, waitingBudget, serviceBudget = 800, 1050, 650

// TestHeldPerChild: what is held for a pod and for a service, in the store and in its index, all strings included.
func TestHeldPerChild(t *testing.T) {
	const jobs, each = 1000, 5
	wire := func(i int, o interface{ Marshal() ([]byte, error) }, into interface{ Unmarshal([]byte) error }) {
		data, err := o.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := into.Unmarshal(data); err != nil { // so that strings are as far apart as they are when they come
			t.Fatal(err)
		}
	}
	slim := func(r schema.Resource) func(*lean.Object) any { // of the largest user of this package
		owns := operator.Watches([]*training.Kind{kinds.TFJob()}, operator.NewMetrics(prometheus.NewRegistry()))[0].Owns
		return owns[slices.IndexFunc(owns, func(o *watch.Owned) bool { return o.Resource == r })].SlimTyped
	}
	for name, c := range map[string]struct {
		budget uint64
		slim   func(*lean.Object) any
		make   func(int) *lean.Object
	}{
		"pod": {podBudget, slim(schema.Pods()), func(i int) *lean.Object {
			var got lean.Object
			pod := corev1.Pod{ObjectMeta: childMeta(i, each), Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "tensorflow"}}}}
			wire(i, &pod, &got)
			return &got
		}},
		"pod that waits": {waitingBudget, slim(schema.Pods()), func(i int) *lean.Object {
			var got lean.Object
			pod := corev1.Pod{ObjectMeta: childMeta(i, each), Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
				Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/200 nodes are available: " + strings.Repeat("7 Insufficient nvidia.com/gpu, ", 20)}}}}
			wire(i, &pod, &got)
			return &got
		}},
		"service": {serviceBudget, slim(schema.Services()), func(i int) *lean.Object {
			var got lean.Object
			wire(i, &corev1.Service{ObjectMeta: childMeta(i, each)}, &got)
			return &got
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Dependents{Owned: &watch.Owned{SlimTyped: c.slim}}
			store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byOwner: indexByOwner})
			before := heap()
			for i := range jobs * each {
				if err := store.Add(d.typed(c.make(i))); err != nil {
					t.Fatal(err)
				}
			}
			held := (heap() - before) / (jobs * each)
			runtime.KeepAlive(store)
			t.Logf("%d bytes each", held)
			if held > c.budget {
				t.Errorf("%d bytes each, want at most %d", held, c.budget)
			}
		})
	}
}

// childMeta returns the metadata that an API server has of the i-th child, of jobs with so many each.
func childMeta(i, each int) metav1.ObjectMeta {
	yes, job := true, fmt.Sprintf("bert-large-finetune-%05d", i/each)
	return metav1.ObjectMeta{Name: fmt.Sprintf("%s-worker-%d", job, i%each), Namespace: "team-speech", ResourceVersion: fmt.Sprint(1000000 + i),
		UID: types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", i)), CreationTimestamp: metav1.NewTime(time.Unix(1790000000, 0)),
		Labels: map[string]string{training.LabelOperator: "tfjob-controller", training.LabelJob: job, training.LabelReplicaType: "worker", training.LabelReplicaIndex: fmt.Sprint(i % each)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: job, Controller: &yes,
			UID: types.UID(fmt.Sprintf("aaaaaaaa-2222-3333-4444-%012d", i/each))}}}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
