package cache

import (
	"slices"
	"strings"
	"testing"
	"unique"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/lean"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel"
)

// TestSlimPanics: a child on which Slim panics, in a list or in a watch, keeps its name and its owner, and nothing else of it is kept;
// the others are not disturbed. Each panic is counted, and logged once for each version, without the child's content.
func TestSlimPanics(t *testing.T) {
	phase := func(u *unstructured.Unstructured) any { return u.Object["status"].(map[string]any)["phase"] }
	label := func(o *lean.Object) any { return "Run" + strings.Split(o.Labels["app"], ".")[1] }
	for name, c := range map[string]struct {
		owned     *watch.Owned
		path      string
		good, bad map[string]any
	}{
		"untyped": {&watch.Owned{Resource: widgets(), Slim: phase}, widgetsPath, map[string]any{"status": map[string]any{"phase": "Running"}}, map[string]any{"status": "secret"}},
		"typed":   {&watch.Owned{Resource: schema.Pods(), SlimTyped: label, Names: []string{"app"}}, podsPath, map[string]any{"app": "x.ning"}, map[string]any{"app": "secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			owner := headOf(clusterWidgets(), "", "a")
			put := func(name string, content map[string]any) (version string) {
				o := ownedBy(owner, content)
				if o["status"] = content["status"]; c.owned.SlimTyped == nil {
					delete(o["metadata"].(map[string]any), "labels")
				}
				s.put(c.path+name, o)
				s.locked(func() { version, _ = apimodel.Get(s.At(c.path+name), "metadata", "resourceVersion").(string) })
				return version
			}
			core, logged := observer.New(zap.ErrorLevel)
			source, _ := s.source(t, "")
			source.Log = zap.New(core)
			typed, err := lean.NewClients(s.Config(), c.owned.Names)
			if err != nil {
				t.Fatal(err)
			}
			put("good", c.good)
			first := put("bad", c.bad)
			d := NewDependents(source, typed, c.owned, func(Owner) {}, func() {})
			background(t, d.Serve)
			eventually(t, "the children", d.Known)
			second := put("bad", c.bad)
			eventually(t, "the next version", func() bool { return d.Version() == second })
			read, _, err := d.Read(t.Context(), owner) // that version once more
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range []schema.Children{d.Of(owner), read} {
				if got := names(found.Items); !slices.Equal(got, []string{"bad", "good"}) {
					t.Fatalf("children %v", got)
				}
				for _, child := range found.Items {
					if want := map[string]any{"good": "Running"}[child.Name]; child.Object != want {
						t.Errorf("%s is kept as %v, want %v", child.Name, child.Object, want)
					}
				}
			}
			if n := testutil.ToFloat64(source.Metrics.ConverterPanics.WithLabelValues(c.owned.Resource.Kind)); n != 3 || logged.Len() != 2 {
				t.Fatalf("%v panics are counted and %d logged, want 3 and 2", n, logged.Len())
			}
			line := logged.All()[0].ContextMap()
			if line["object"] != "ns/bad" || line["resourceVersion"] != first || line["panic"] == "" || !strings.Contains(line["stack"].(string), "cache") {
				t.Errorf("logged: %v", line)
			}
			for _, entry := range logged.All() {
				for key, value := range entry.ContextMap() {
					if text, ok := value.(string); ok && strings.Contains(text, "secret") {
						t.Errorf("the log holds the object in %s", key)
					}
				}
			}
			s.locked(func() { s.Drop(c.path + "bad") })
			eventually(t, "the child to be forgotten", func() bool {
				d.panics.mu.Lock()
				defer d.panics.mu.Unlock()
				return len(d.panics.logged) == 0
			})
		})
	}
}

// TestSamePanics: what cannot be compared is not the same.
func TestSamePanics(t *testing.T) {
	metrics := serve.NewMetrics(prometheus.NewRegistry(), "test")
	core, logged := observer.New(zapcore.ErrorLevel)
	woken := 0
	d := NewDependents(Source{Metrics: metrics, Log: zap.New(core)}, nil, &watch.Owned{Resource: widgets(), Slim: func(*unstructured.Unstructured) any { return nil },
		Same: func(a, b any) bool { return a.(string) == b.(string) }}, func(Owner) { woken++ }, nil)
	at := func(version string, object any) *child {
		return &child{identity: identity{Name: "x", Namespace: "ns", UID: "x", ResourceVersion: version}, owned: unique.Make(Owner{UID: "u"}), object: object}
	}
	d.handlers().OnUpdate(at("1", "a"), at("2", "a"))
	if woken != 0 {
		t.Fatal("woken by what is the same")
	}
	d.handlers().OnUpdate(at("2", "a"), at("3", 7))
	if n := testutil.ToFloat64(metrics.ConverterPanics.WithLabelValues("Widget")); woken != 1 || n != 1 || logged.Len() != 1 {
		t.Errorf("woken %d times, %v panics are counted and %d logged, want 1 of each", woken, n, logged.Len())
	}
}
