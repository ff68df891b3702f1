package controller

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/training/kinds"
	"stoic/training/operator"
)

// TestConverterPanics: a panic of the converter, recovered by itself or by the transform, is counted each time and logged once for
// each version of an object, whose content stays out of the log.
func TestConverterPanics(t *testing.T) {
	broken := *kinds.TFJob()
	broken.Options = func() any { panic("oh") }
	for name, converter := range map[string]func(*unstructured.Unstructured) *convert.Result{
		"recovered by the converter": func(u *unstructured.Unstructured) *convert.Result { return operator.Convert(&broken, u) },
		"recovered by the transform": func(*unstructured.Unstructured) *convert.Result { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			core, logged := observer.New(zap.ErrorLevel)
			s := newAPIServer(t)
			c := newTestController(t, s, func(o *Options) {
				o.Watches, o.Log = jobs(o, kinds.TFJob()), zap.New(core)
				o.Watches[0].Convert = converter
			})
			l := c.watchers[0]
			ctx, stop := context.WithCancel(context.Background())
			var serving sync.WaitGroup
			serving.Go(func() { l.objects.Serve(ctx) }) // and no reconcile, which would write a status
			defer serving.Wait()
			defer stop()
			count := func() float64 { return counted(t, c, "training_operator_converter_panics_total") }

			s.put(secretJob())
			eventually(t, "the object", func() bool { return l.objects.Get("ns/a") != nil })
			first, result := s.storedVersion(), l.objects.Get("ns/a")
			if read, err := l.objects.Read(t.Context(), "ns", "a"); err != nil || read.Panic == nil { // the same version once more
				t.Fatalf("%+v, %v", read, err)
			}
			if n := logged.Len(); n != 1 {
				t.Fatalf("%d lines for two conversions of one version, want 1", n)
			}
			s.put(secretJob())
			eventually(t, "the next version", func() bool { return l.objects.Get("ns/a").Meta.ResourceVersion == s.storedVersion() })
			if n, lines := count(), logged.Len(); n != 3 || lines != 2 {
				t.Errorf("%v panics are counted and %d logged, want 3 and 2", n, lines)
			}
			line := logged.All()[0].ContextMap()
			if line["object"] != "ns/a" || line["resourceVersion"] != first || line["panic"] != "oh" || !strings.Contains(line["stack"].(string), "controller") {
				t.Errorf("logged: %v", line)
			}
			for _, entry := range logged.All() {
				for key, value := range entry.ContextMap() {
					if text, ok := value.(string); ok && strings.Contains(text, "secret") {
						t.Errorf("the log holds the object in %s", key)
					}
				}
			}
			if result.Rejection == nil || result.Panic == nil || result.Panic.Stack != nil {
				t.Errorf("kept in the cache: %+v", result)
			}
			s.comeAndGo(t, l)
			if n, lines := count(), logged.Len(); n != 4 || lines != 3 {
				t.Errorf("%v panics are counted and %d logged, want 4 and 3: nothing is remembered of an object that was gone", n, lines)
			}
		})
	}
}

func secretJob() map[string]any {
	o := job("a", 1, `{"cleanPodPolicy":"secret"}`)
	o["metadata"].(map[string]any)["uid"] = "u"
	return o
}

// comeAndGo stops serving TFJobs until the watcher has noticed, and then serves them again, with job a as it was.
func (s *apiServer) comeAndGo(t *testing.T, l *watcher) {
	t.Helper()
	s.locked(func() { s.Unserve("tfjobs") })
	l.store.SetVerified("u") // stands for all that is known of the object
	eventually(t, "the absence to be noticed", func() bool { return l.store.Len() == 0 })
	s.locked(func() { s.Serve(tfjobs()) })
	eventually(t, "the object", func() bool { return l.objects.Get("ns/a") != nil })
}
