package cache

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unique"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/internal/lean"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

func ignoreReplaced(map[types.UID]bool) {}

// headOnly reads the metadata of a widget, and its spec as the object.
func headOnly(u *unstructured.Unstructured) *convert.Result {
	head := &schema.Head{Resource: widgets()}
	head.Meta = metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion()}
	spec, _ := u.Object["spec"].(string)
	return &convert.Result{Head: head, Object: spec}
}

// TestTransform: the transform must return for anything, with metadata, without an error: see the table above it.
func TestTransform(t *testing.T) {
	good := &convert.Result{Head: &schema.Head{Resource: widgets(), Meta: metav1.ObjectMeta{Name: "a"}}, Object: "good"}
	raw := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(2)}}}
	fine := func(*unstructured.Unstructured) *convert.Result { return good }
	source := Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}
	transform := func(converter func(*unstructured.Unstructured) *convert.Result) cache.TransformFunc {
		return NewObjects(source, widgets(), converter, Handlers{}).transform
	}
	for _, c := range []struct {
		name      string
		converter func(*unstructured.Unstructured) *convert.Result
		in        any
		same      bool
	}{
		{"an object", fine, raw, false},
		{"its own output", fine, good, true},
		{"a panic", func(*unstructured.Unstructured) *convert.Result { panic("oh") }, raw, false},
		{"no answer", func(*unstructured.Unstructured) *convert.Result { return nil }, raw, false},
		{"an answer without head", func(*unstructured.Unstructured) *convert.Result { return &convert.Result{} }, raw, false},
		{"an object without content", func(*unstructured.Unstructured) *convert.Result { panic("oh") }, &unstructured.Unstructured{}, false},
		{"no object at all", func(*unstructured.Unstructured) *convert.Result { panic("oh") }, (*unstructured.Unstructured)(nil), false},
		{"nil", fine, nil, false},
		{"something else", fine, "text", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := unpacked(transform(c.converter))(c.in)
			if err != nil {
				t.Fatalf("error %v: the informer would never sync", err)
			}
			if c.same && out != c.in {
				t.Errorf("its own output was changed to %v", out)
			}
			result, ok := out.(*convert.Result)
			if !ok || result == nil || result.Head == nil || result.GetObjectMeta() == nil {
				t.Fatalf("%v has no metadata: the whole list would be lost", out)
			}
			if (result.Object == nil) == (result.Rejection == nil) {
				t.Error("not exactly one of object and rejection")
			}
		})
	}
	out, _ := transform(func(*unstructured.Unstructured) *convert.Result { panic("oh\nno") })(raw)
	got := out.(*convert.Result)
	if got.Meta.Name != "a" || got.Meta.Namespace != "ns" || got.Meta.UID != "u" || got.Meta.ResourceVersion != "7" || got.Meta.Generation != 2 {
		t.Errorf("the object lost its name: %+v", got.Meta)
	}
	if text := got.Rejection.Problems[0].String(); text != "spec: found an object that the converter failed on: oh no, must be readable; this is a defect of the operator; please report it" {
		t.Error(text)
	}
}

// TestConverterPanics: a panic of the converter, recovered by itself or by the transform, is counted each time and logged once for
// each version of an object, whose content stays out of the log.
func TestConverterPanics(t *testing.T) {
	byItself := func(u *unstructured.Unstructured) (found *convert.Result) {
		defer func() {
			found = unreadable(widgets(), u, "an object that the converter failed on")
			found.Panic = convert.NewPanic(recover())
		}()
		panic("oh")
	}
	for name, converter := range map[string]func(*unstructured.Unstructured) *convert.Result{
		"recovered by the converter": byItself,
		"recovered by the transform": func(*unstructured.Unstructured) *convert.Result { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			core, logged := observer.New(zap.InfoLevel)
			metrics := serve.NewMetrics(prometheus.NewRegistry(), "test")
			o := NewObjects(Source{Metrics: metrics, Log: zap.New(core)}, widgets(), converter, Handlers{Replaced: ignoreReplaced})
			at := func(version string) *convert.Result {
				out, err := o.transform(&unstructured.Unstructured{Object: map[string]any{"spec": "secret",
					"metadata": map[string]any{"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": version}}})
				if err != nil {
					t.Fatal(err)
				}
				return out.(*convert.Result)
			}
			result := at("1")
			at("1") // the next list
			if n := logged.Len(); n != 1 {
				t.Fatalf("%d lines for two conversions of one version, want 1", n)
			}
			at("2")
			if n, lines := testutil.ToFloat64(metrics.ConverterPanics.WithLabelValues("Widget")), logged.Len(); n != 3 || lines != 2 {
				t.Errorf("%v panics are counted and %d logged, want 3 and 2", n, lines)
			}
			line := logged.All()[0].ContextMap()
			if line["object"] != "ns/a" || line["resourceVersion"] != "1" || line["panic"] != "oh" || !strings.Contains(line["stack"].(string), "cache") {
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
			o.replaced(map[types.UID]bool{"another": true})
			if len(o.panics.logged) > 0 {
				t.Error("the version of an object that is gone is kept")
			}
		})
	}
}

// calls are those of the handlers, in order.
type calls struct {
	mu   sync.Mutex
	made []string
}

func (c *calls) add(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, call)
}

func (c *calls) have(call string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.made, call)
}

func (c *calls) handlers() Handlers {
	return Handlers{
		Added: func(r *convert.Result) { c.add("added " + r.Key() + " " + r.Object.(string)) },
		Updated: func(before, after *convert.Result) {
			c.add("updated " + after.Key() + " " + before.Object.(string) + " to " + after.Object.(string))
		},
		Deleted:      func(r *convert.Result) { c.add("deleted " + r.Key()) },
		StatusServed: func() { c.add("status served") },
		Replaced: func(present map[types.UID]bool) {
			c.add("replaced by " + strings.Join(slices.Sorted(func(yield func(string) bool) {
				for uid := range present {
					if !yield(string(uid)) {
						return
					}
				}
			}), " "))
		},
	}
}

// TestObjects: namespaced and cluster-scoped objects are listed, watched, changed, deleted, and read from the API server.
func TestObjects(t *testing.T) {
	for name, c := range map[string]struct {
		resource         schema.Resource
		path, key, other string
		namespace        string
	}{
		"namespaced":     {widgets(), widgetsPath, "ns/a", "ns/b", "ns"},
		"cluster-scoped": {clusterWidgets(), "/apis/example.org/v1/widgets/", "/a", "/b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, made := newAPIServer(t), &calls{}
			s.serve(c.resource, true)
			s.put(c.path+"a", map[string]any{"spec": "one", "metadata": map[string]any{"uid": "u"}})
			source, _ := s.source(t, "ns")
			o := NewObjects(source, c.resource, headOnly, made.handlers())
			if o.Ready() || o.Get(c.key) != nil || o.IsGone(c.key, "u") || o.Version() != "" {
				t.Error("something is known before anything is watched")
			}
			server.Background(t, o.Serve)
			server.Await(t, "the list", func() bool { return o.Ready() && made.have("replaced by u") && made.have("added "+c.key+" one") })
			if got := o.Get(c.key); got == nil || got.Object != "one" || o.IsGone(c.key, "u") || !o.IsGone(c.key, "v") || !o.IsGone(c.other, "u") {
				t.Errorf("%+v", got)
			}
			s.put(c.path+"a", map[string]any{"spec": "two", "metadata": map[string]any{"uid": "u"}})
			s.put(c.path+"b", map[string]any{"spec": "new"})
			server.Await(t, "the changes", func() bool { return made.have("updated "+c.key+" one to two") && made.have("added "+c.other+" new") })
			var all []string
			o.Each(func(r *convert.Result) { all = append(all, r.Key()) })
			if slices.Sort(all); !slices.Equal(all, []string{c.key, c.other}) {
				t.Errorf("all: %v", all)
			}
			s.Locked(func() { s.Drop(c.path + "a") })
			server.Await(t, "the deletion", func() bool { return made.have("deleted "+c.key) && o.IsGone(c.key, "u") })
			if got, err := o.Read(t.Context(), c.namespace, "b"); err != nil || got.Object != "new" || got.Key() != c.other {
				t.Errorf("read %+v: %v", got, err)
			}
			if got, err := o.Read(t.Context(), c.namespace, "a"); err == nil {
				t.Errorf("read %+v", got)
			}
			if o.Version() == "" {
				t.Error("no version is known")
			}
			for _, watches := range []bool{false, true} {
				for _, r := range s.asked("widgets", watches) {
					if r.URL.Path+"/" != c.path || r.URL.Query().Has("labelSelector") {
						t.Errorf("asked %s", r.URL)
					}
				}
			}
		})
	}
}

// TestDeletionThatWasMissed: an object that is deleted while the watch is down is reported as deleted, and nothing is kept of it.
func TestDeletionThatWasMissed(t *testing.T) {
	made := &calls{}
	o := NewObjects(Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}, widgets(), headOnly, made.handlers())
	gone := headOnly(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "u"}}})
	o.panics.isNew("u", "1")
	o.deleted(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: gone})
	if diff := cmp.Diff([]string{"deleted ns/a"}, made.made); diff != "" || len(o.panics.logged) > 0 {
		t.Errorf("kept: %v (-want +got):\n%s", o.panics.logged, diff)
	}
	o.deleted(cache.DeletedFinalStateUnknown{Key: "ns/a"}) // what is not an object is no reason to panic
	o.added(7)
	o.updated(7, gone)
}

// TestSlimPanics: a child on which Slim panics keeps its name and its owner, and nothing else of it is kept; the others are not disturbed.
// Each panic is counted, and logged once for each version of the child; TestConverterPanics shows what is logged.
func TestSlimPanics(t *testing.T) {
	phase := func(u *unstructured.Unstructured) any { return u.Object["status"].(map[string]any)["phase"] }
	label := func(o *lean.Object) any { return "Run" + strings.Split(o.Labels["app"], ".")[1] }
	core, logged := observer.New(zap.ErrorLevel)
	metrics := serve.NewMetrics(prometheus.NewRegistry(), "test")
	d := NewDependents(Source{Metrics: metrics, Log: zap.New(core)}, nil, &watch.Owned{Resource: widgets(), Slim: phase, SlimTyped: label}, func(Owner) {}, func() {})
	typed := func(version, app string) *child {
		o := &lean.Object{}
		o.Name, o.UID, o.ResourceVersion, o.Labels = "x", types.UID(app), version, map[string]string{"app": app}
		return d.typed(o)
	}
	untyped := func(version string, status any) *child {
		return d.untyped(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x", "uid": "u", "resourceVersion": version}, "status": status}})
	}
	for _, c := range []struct {
		what string
		got  *child
		want any
	}{
		{"a typed child", typed("1", "x.ning"), "Running"},
		{"a typed child on which it panics", typed("1", "secret"), nil},
		{"the same once more", typed("1", "secret"), nil},
		{"its next version", typed("2", "secret"), nil},
		{"an untyped child", untyped("1", map[string]any{"phase": "Running"}), "Running"},
		{"an untyped child on which it panics", untyped("1", "secret"), nil},
	} {
		if c.got.Name != "x" || c.got.object != c.want {
			t.Errorf("%s is kept as %+v", c.what, c.got)
		}
	}
	if n := testutil.ToFloat64(metrics.ConverterPanics.WithLabelValues("Widget")); n != 4 || logged.Len() != 3 {
		t.Errorf("%v panics are counted and %d logged, want 4 and 3", n, logged.Len())
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

// TestSize: caches of two versions of a kind share a gauge; one that begins again subtracts only its own part.
func TestSize(t *testing.T) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"})
	one, other := size{gauge: gauge}, size{gauge: gauge}
	one.add(1)
	one.add(1)
	other.add(1)
	one.add(-1)
	if n := testutil.ToFloat64(gauge); n != 2 {
		t.Errorf("%v, want 2", n)
	}
	one.empty()
	one.empty()
	if n := testutil.ToFloat64(gauge); n != 1 {
		t.Errorf("%v, want 1", n)
	}
}
