package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

const (
	floodSpaces = 4
	// Every manyEvery-th object has manyProblems; schema.MaxReported of them are reported one by one and the others counted.
	manyEvery, manyProblems = 20, 7
)

// floodSize returns how many objects are created.
func floodSize() int { return sized(2_500, 10_000) }

// TestFlood: ten thousand objects, or a quarter of them (see sized), are rejected together, and the operator is killed in the
// middle of it. Other objects are not affected, every error is reported, and none is reported twice.
func TestFlood(t *testing.T) {
	full(t)
	t.Parallel() // with tests that mostly wait
	r := newRig(t, "", func(*rig) {})
	// The race detector would take most of the time; the other tests have it.
	r.flags = nil
	f := &flood{rig: r, began: time.Now()}
	for i := range floodSpaces {
		r.namespace(t, f.space(i))
	}
	quiet := r.namespace(t, "quiet")

	// The first operator emits events so slowly that most are unreported when it dies.
	p := r.operator(t, "", "--kube-api-qps", "-1", "--event-qps", "20")
	created := f.create()
	f.awaitProgress(t, "the flood to rise", func() (bool, string) { n := f.made.Load(); return n > int64(floodSize()/10), fmt.Sprint(n) })
	r.apply(t, quiet, manifest("canary", worker("", "")))
	begin := time.Now()
	r.awaitState(t, quiet, "canary", training.Succeeded)
	f.say(t, "a job in another namespace, whose pod runs for 1 s, succeeded within %s", time.Since(begin).Round(10*time.Millisecond))
	f.awaitProgress(t, "a backlog", func() (bool, string) {
		n, _ := p.metric(t, "training_operator_events_backlog")
		return n > float64(floodSize()/10), fmt.Sprint(n)
	})
	p.kill(t)
	f.say(t, "killed the operator; %d events were told", f.count(t))

	p = r.operator(t, "", "--kube-api-qps", "-1", "--event-qps", "-1")
	if err := <-created; err != nil {
		t.Fatalf("create the flood: %v", err)
	}
	f.say(t, "all are created")
	f.settled(t, p, floodSize())
	f.say(t, "all is told")
	before := f.look(t)

	p.stop(t)
	p = r.operator(t, "", "--kube-api-qps", "-1", "--event-qps", "-1")
	f.settled(t, p, floodSize())
	if known, _ := p.metric(t, "training_operator_events_total", `result="known"`); int(known) < len(before.events) {
		t.Errorf("after the last restart %v events were asked for again, want all %d", known, len(before.events))
	}
	f.same(t, before, f.look(t))
	f.say(t, "another restart has changed nothing")
}

// flood is floodSize malformed objects.
type flood struct {
	*rig
	began time.Time
	made  atomic.Int64
}

func (f *flood) say(t *testing.T, format string, a ...any) {
	t.Helper()
	t.Logf("[%4.1fs] %s", time.Since(f.began).Seconds(), fmt.Sprintf(format, a...))
}

func (f *flood) space(i int) string { return fmt.Sprint("flood-", i%floodSpaces) }

// problems returns how many problems the object with that number has.
func (f *flood) problems(i int) int {
	if i%manyEvery == 0 {
		return manyProblems
	}
	return 1
}

func (f *flood) object(i int) *unstructured.Unstructured {
	args := make([]any, f.problems(i))
	for j := range args {
		args[j] = int64(j)
	}
	container := map[string]any{"name": "tensorflow", "image": "training:1", "args": args}
	template := map[string]any{"spec": map[string]any{"containers": []any{container}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kinds.TFJob().APIVersion(), "kind": kinds.TFJob().Name,
		"metadata": map[string]any{"name": fmt.Sprint("job-", i)},
		"spec":     map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{"template": template}}},
	}}
}

// create makes all objects in the background. The channel yields the first error, or nil at the end.
func (f *flood) create() <-chan error {
	const creators = 16
	result := make(chan error, creators)
	var running sync.WaitGroup
	var next atomic.Int64
	for range creators {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < floodSize(); i = int(next.Add(1)) - 1 {
				if _, err := f.jobs(f.space(i)).Create(context.Background(), f.object(i), metav1.CreateOptions{}); err != nil {
					result <- err
					return
				}
				f.made.Add(1)
			}
		})
	}
	go func() { running.Wait(); close(result) }()
	return result
}

// settled waits until the operator has reconciled so many objects, and has no keys and no events left.
func (f *flood) settled(t *testing.T, p *process, passes int) {
	t.Helper()
	f.awaitProgress(t, "all keys and events to be worked off", func() (bool, string) {
		adds, _ := p.metric(t, "workqueue_adds_total", `name="tfjob-controller"`)
		keys, _ := p.metric(t, "workqueue_depth", `name="tfjob-controller"`)
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds", `name="tfjob-controller"`)
		events, _ := p.metric(t, "training_operator_events_backlog")
		return int(adds) >= passes && keys == 0 && busy == 0 && events == 0, fmt.Sprintf("%v keys seen, %v wait, %v events wait", adds, keys, events)
	})
	for _, result := range []string{"refused", "late", "postponed", "dropped"} {
		if n, _ := p.metric(t, "training_operator_events_total", `result="`+result+`"`); n != 0 {
			t.Errorf("%v events were %s", n, result)
		}
	}
	if n, _ := p.metric(t, "training_operator_panics_total"); n != 0 {
		t.Errorf("%v panics", n)
	}
}

// awaitProgress waits as long as something changes: how long a flood takes depends on the machine.
func (f *flood) awaitProgress(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	last, moved, reported := "", time.Now(), time.Now()
	for time.Since(moved) < patience {
		ok, saw := holds()
		if ok {
			return
		}
		if saw != last {
			last, moved = saw, time.Now()
		}
		if time.Since(reported) > 5*time.Second {
			f.say(t, "%s", saw)
			reported = time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited for %s; for %v saw only %s", what, patience, last)
}

// count returns how many events there are, without fetching them.
func (f *flood) count(t *testing.T) (sum int) {
	t.Helper()
	for i := range floodSpaces {
		list, err := f.typed.CoreV1().Events(f.space(i)).List(context.Background(), metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Fatalf("count the events: %v", err)
		}
		sum += len(list.Items)
		if list.RemainingItemCount != nil {
			sum += int(*list.RemainingItemCount)
		}
	}
	return sum
}

// sight is the state of the flood: resourceVersions of the objects and of the events, by namespace/name.
type sight struct{ objects, events map[string]string }

// look reads everything once and checks it: the status of every object, and every event, once each.
func (f *flood) look(t *testing.T) sight {
	t.Helper()
	s := sight{map[string]string{}, map[string]string{}}
	reported := map[string]int{}
	for i := range floodSpaces {
		ns := f.space(i)
		f.pages(t, func(o metav1.ListOptions) (metav1.ListInterface, error) {
			list, err := f.typed.CoreV1().Events(ns).List(context.Background(), o)
			for i := range list.Items {
				e := &list.Items[i]
				s.events[ns+"/"+e.Name] = e.ResourceVersion
				reported[sentence(ns, e)]++
			}
			return list, err
		})
		f.pages(t, func(o metav1.ListOptions) (metav1.ListInterface, error) {
			list, err := f.jobs(ns).List(context.Background(), o)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				head := convert.Object(kinds.TFJob(), &list.Items[i]).Head
				s.objects[head.Key()] = head.Meta.ResourceVersion
				if got, want := describe(&head.Status), "Stalled=True(InvalidSpec) Failed=True(InvalidSpec)"; got != want {
					t.Errorf("%s: conditions are %q, want %q", head.Key(), got, want)
				}
			}
			return list, nil
		})
	}
	if len(s.objects) != floodSize() {
		t.Errorf("%d objects, want %d", len(s.objects), floodSize())
	}
	f.checkReported(t, reported)
	return s
}

// pages calls list for one page after the other.
func (f *flood) pages(t *testing.T, list func(metav1.ListOptions) (metav1.ListInterface, error)) {
	t.Helper()
	for o := (metav1.ListOptions{Limit: 1000}); ; {
		page, err := list(o)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return
		}
	}
}

// sentence returns what an event reports, without the text.
func sentence(ns string, e *corev1.Event) string {
	where := e.InvolvedObject.FieldPath
	if !strings.HasPrefix(e.Message, where+": ") && !strings.HasPrefix(e.Message, "... and 2 more") {
		where = e.Message
	}
	return strings.Join([]string{ns, e.InvolvedObject.Name, e.Type, e.Reason, where}, " ")
}

// checkReported: what was reported is what should be, each sentence once.
func (f *flood) checkReported(t *testing.T, reported map[string]int) {
	t.Helper()
	const few = 5
	wrong := 0
	for i := range floodSize() {
		paths := make([]string, min(f.problems(i), schema.MaxReported), schema.MaxReported+1)
		for j := range paths {
			paths[j] = fmt.Sprintf("%s.args[%d]", inContainer, j)
		}
		if f.problems(i) > schema.MaxReported {
			paths = append(paths, "")
		}
		for _, path := range paths {
			what := strings.Join([]string{f.space(i), fmt.Sprint("job-", i), "Warning", "TFJobFailedValidation", path}, " ")
			if reported[what] != 1 {
				if wrong++; wrong <= few {
					t.Errorf("told %d times, want once: %s", reported[what], what)
				}
			}
			delete(reported, what)
		}
	}
	for what, n := range reported {
		if wrong++; wrong <= few {
			t.Errorf("told %d times, want never: %s", n, what)
		}
	}
	if wrong > few {
		t.Errorf("%d sentences are wrong in all", wrong)
	}
}

func (f *flood) same(t *testing.T, before, after sight) {
	t.Helper()
	for what, maps := range map[string][2]map[string]string{"object": {before.objects, after.objects}, "event": {before.events, after.events}} {
		changed := len(maps[1]) - len(maps[0])
		for name, version := range maps[0] {
			if maps[1][name] != version {
				changed++
			}
		}
		if changed != 0 {
			t.Errorf("a restart has changed or added %d %ss", changed, what)
		}
	}
}
