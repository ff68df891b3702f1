package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/examples/operators/foobar"
	"stoic/test/faults/history"
	"stoic/test/faults/mutation"
	"stoic/test/faults/oracle"
	"stoic/test/operator"
	"stoic/test/served"
	"stoic/training/kinds"
	trainingoperator "stoic/training/operator"
)

var (
	mutants = flag.Int("mutants", 320, "how many malformed objects TestMalformed stores, of all kinds together")
	seed    = flag.Uint64("seed", 1, "which ones")
)

// patience is how long a state that must come may be away without anything changing.
const patience = 2 * time.Minute

// TestMalformed stores malformed objects of all kinds on a control plane whose CRDs accept anything: before their operator starts,
// while it runs, and by an update that is repaired later. For each object: its user is told what the converter says, with the path;
// nothing is silent; nothing is written or queued without end; healthy jobs are as fast as before; what is repaired is served, and
// what is deleted goes.
func TestMalformed(t *testing.T) {
	crds := []string{"test/fixtures/clusterfoobars-open.yaml"} // which the operator of FooBars serves, too
	all := malformableKinds(t)
	for _, k := range all {
		crds = append(crds, k.open)
	}
	g := newGround(t, cluster.Options{Nodes: 4, Users: map[string]string{"foobar": "system:serviceaccount:test-operators:foobar-operator"}}, crds...)
	g.kubectl(t, "create", "namespace", malformedSpace)
	for _, file := range []string{"namespace.yaml", "rbac.yaml"} {
		g.kubectl(t, "apply", "-f", filepath.Join(root, "examples/operators/foobar/deploy", file))
	}
	f := &field{ground: g, kinds: all}
	f.startOperators(t)
	canary := g.startCanary(t)
	f.learn(t)
	before := canary.end(t)
	f.stopOperators(t)

	f.draw(t)
	f.store(t, f.of("before"))
	f.startOperators(t)
	canary = g.startCanary(t)
	f.store(t, f.of("beside", "edited"))
	f.awaitEnds(t)
	during := canary.end(t)
	f.awaitRest(t)
	f.judge(t)
	f.repair(t)
	f.deleteAll(t)
	f.stopOperators(t)
	// What is compared is the median; a job is slow if it takes one and a half times as long, and two seconds more.
	if slow, usual := oracle.Quantile(during, 0.5), oracle.Quantile(before, 0.5); slow > 3*usual/2+2*time.Second {
		t.Errorf("healthy jobs took %v while malformed objects were stored, %v before", slow, usual)
	}
	stored := len(f.mutants) - f.refused
	fmt.Printf("mutants %d, of which %d were stored; %d rejected; canaries after %v, before %v\n", len(f.mutants), stored, f.rejected, oracle.Quantile(during, 0.5), oracle.Quantile(before, 0.5))
	if stored < len(f.mutants)/2 || f.rejected < stored/4 {
		t.Errorf("of %d objects %d were stored and %d rejected: too few to show anything", len(f.mutants), stored, f.rejected)
	}
}

const malformedSpace = "malformed"

// malformable is a kind whose objects are malformed.
type malformable struct {
	resource schema.GroupVersionResource
	name     string
	convert  func(*unstructured.Unstructured) *convert.Result
	open     string // the CRD that accepts anything
	shipped  *mutation.Schema
	valid    map[string]any
	status   map[string]any // of a valid object
}

// malformableKinds returns the kinds of the training operator and the FooBar, each with a valid object that has many fields.
func malformableKinds(t *testing.T) (all []*malformable) {
	t.Helper()
	add := func(w watch.Watch, shipped, valid string) {
		k := &malformable{name: w.Resource.Kind, convert: w.Convert, open: "test/fixtures/" + w.Resource.Plural + "-open.yaml",
			resource: schema.GroupVersionResource{Group: w.Resource.Group, Version: w.Resource.Version, Resource: w.Resource.Plural}}
		k.shipped = served.Version(t, filepath.Join(root, shipped, w.Resource.Plural+".yaml")).Schema.OpenAPIV3Schema
		text, err := yaml.YAMLToJSON([]byte(valid))
		if err == nil {
			err = json.Unmarshal(text, &k.valid)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := k.convert(k.object("probe", k.valid)); r.Object == nil || len(r.Warnings) > 0 {
			t.Fatalf("the valid %s is malformed: %+v, warnings %v", k.name, r.Rejection, r.Warnings)
		}
		all = append(all, k)
	}
	for _, w := range trainingoperator.Watches(kinds.All(), nil) {
		for _, kind := range kinds.All() {
			if kind.Name == w.Resource.Kind {
				add(w, "deploy/crd", validJob(kind.Name, kind.ReplicaSpecsField, cmp.Or(kind.Container, "main")))
			}
		}
	}
	for _, w := range foobar.Watches() {
		if w.Resource.Kind == "FooBar" {
			add(w, "examples/operators/foobar/deploy/crd", "{apiVersion: test.example.com/v1alpha1, kind: FooBar, metadata: {name: x}, spec: {target: placeholder-a, type: Link}}")
		}
	}
	return all
}

// validJob returns a job with a field of each sort.
func validJob(kind, field, container string) string {
	extra := map[string]string{"MPIJob": "  slotsPerWorker: 1\n", "PyTorchJob": "  nprocPerNode: \"2\"\n", "TFJob": "  successPolicy: AllWorkers\n"}[kind]
	first := ""
	if rtype := map[string]string{"MPIJob": "Launcher", "XGBoostJob": "Master"}[kind]; rtype != "" {
		first = fmt.Sprintf("    %s: {replicas: 1, template: {spec: {containers: [{name: %s, image: \"training:1\"}]}}}\n", rtype, container)
	}
	return "apiVersion: kubeflow.org/v1\nkind: " + kind + `
metadata: {name: x, labels: {team: vision}, annotations: {note: any text}}
spec:
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 3, activeDeadlineSeconds: 86400, ttlSecondsAfterFinished: 3600, suspend: false, schedulingPolicy: {minAvailable: 1, queue: team}}
` + extra + "  " + field + ":\n" + first + `    Worker:
      replicas: 1
      restartPolicy: OnFailure
      template:
        metadata: {labels: {tier: "3"}, annotations: {sidecar.istio.io/inject: "false"}}
        spec:
          terminationGracePeriodSeconds: 1
          tolerations: [{key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]
          securityContext: {runAsUser: 1000}
          volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}]
          initContainers: [{name: fetch, image: "training:1", command: [fetch]}]
          containers:
          - name: ` + container + `
            image: training:1
            command: [python, /opt/train.py]
            env: [{name: LEVEL, value: "3"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
            ports: [{name: metrics, containerPort: 9090, protocol: TCP}]
            resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {cpu: 10m, memory: 2Mi}}
            volumeMounts: [{name: scratch, mountPath: /scratch, readOnly: false}]
`
}

// object returns an object of the kind with a name.
func (k *malformable) object(name string, content map[string]any) *unstructured.Unstructured {
	u := (&unstructured.Unstructured{Object: content}).DeepCopy()
	u.SetNamespace(malformedSpace)
	u.SetName(name)
	return u
}

// mutant is one malformed object.
type mutant struct {
	kind *malformable
	mutation.Mutation
	way  string // before, beside or edited: how it becomes malformed
	name string
	uid  types.UID // "": nothing is stored
	// isRefused: the API server has rejected it; what is stored, if anything, is valid.
	isRefused bool
	// said is what the converter says of what is stored, of that generation.
	said       *convert.Result
	generation int64
	ended      bool
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s %s (%s), %s", m.kind.name, m.name, m.way, m.Name())
}

// took records what is stored.
func (m *mutant) took(u *unstructured.Unstructured) {
	m.uid = u.GetUID()
	m.generation = u.GetGeneration()
	m.said = m.kind.convert(u).Brief()
	m.ended = false
}

// field is where the objects are.
type field struct {
	*ground
	kinds     []*malformable
	processes map[string]*operator.Process
	mutants   []*mutant
	refused   int
	rejected  int
}

func (f *field) startOperators(t *testing.T) {
	t.Helper()
	programs := operator.Programs{Root: root, Dir: t.TempDir()}
	foobar, err := programs.Build(t.Context(), "./examples/operators/foobar/cmd")
	if err != nil {
		t.Fatal(err)
	}
	foobars := operator.Options{Kubeconfig: f.cluster.UserKubeconfig("foobar"),
		Command: []string{foobar, "--kubeconfig", "{kubeconfig}", "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}"}}
	f.processes = map[string]*operator.Process{"training": f.start(t, f.training(t)), "foobar": f.start(t, foobars)}
}

// stopOperators stops the operators as Kubernetes does. None may have panicked: Stop reads their logs.
func (f *field) stopOperators(t *testing.T) {
	t.Helper()
	for name, p := range f.processes {
		for _, metric := range []string{"_converter_panics_total{", "_panics_total "} {
			if n, found, err := p.Sample(t.Context(), metric); err != nil || found && n > 0 {
				t.Errorf("%s: %s is %v (%v)", name, metric, n, err)
			}
		}
		if err := p.Stop(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (f *field) objects(k *malformable) dynamic.ResourceInterface {
	return f.client.Resource(k.resource).Namespace(malformedSpace)
}

// sight is what the API server shows: objects, and the events about them.
type sight struct {
	objects map[types.UID]*unstructured.Unstructured
	events  map[types.UID][]*unstructured.Unstructured
}

func (f *field) look(ctx context.Context) (s sight, err error) {
	s = sight{map[types.UID]*unstructured.Unstructured{}, map[types.UID][]*unstructured.Unstructured{}}
	for _, k := range f.kinds {
		list, err := f.objects(k).List(ctx, metav1.ListOptions{})
		if err != nil {
			return s, fmt.Errorf("list %s: %w", k.name, err)
		}
		for i := range list.Items {
			s.objects[list.Items[i].GetUID()] = &list.Items[i]
		}
	}
	events, err := f.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(malformedSpace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("list events: %w", err)
	}
	for i := range events.Items {
		uid := types.UID(text(&events.Items[i], "involvedObject", "uid"))
		s.events[uid] = append(s.events[uid], &events.Items[i])
	}
	return s, nil
}

func text(u *unstructured.Unstructured, fields ...string) string {
	found, _, _ := unstructured.NestedString(u.Object, fields...)
	return found
}

// await waits until a condition holds, as long as what it sees changes.
func (f *field) await(t *testing.T, what string, holds func(sight) (ok bool, saw string)) {
	t.Helper()
	last := ""
	moved := time.Now()
	for {
		s, err := f.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ok, saw := holds(s)
		switch {
		case ok:
			return
		case saw != last:
			last = saw
			moved = time.Now()
		case time.Since(moved) > patience:
			t.Errorf("waited for %s; for %v saw only %s", what, patience, strings.ToValidUTF8(saw, "?"))
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// learn finds the status of a valid object of each kind, and sees that nobody is warned about it.
func (f *field) learn(t *testing.T) {
	t.Helper()
	for _, k := range f.kinds {
		name := "valid-" + k.resource.Resource
		u, err := f.create(t.Context(), k, k.object(name, k.named(name, k.valid)))
		if err != nil {
			t.Fatal(err)
		}
		f.await(t, "a valid "+k.name, func(s sight) (bool, string) {
			now := s.objects[u.GetUID()]
			if now == nil || observedGeneration(now) != now.GetGeneration() || history.State(now).Type == "" || history.State(now).Type == "Created" {
				return false, fmt.Sprint(now)
			}
			k.status, _ = now.Object["status"].(map[string]any)
			for _, e := range s.events[u.GetUID()] {
				if isNeedless(e) {
					t.Errorf("nothing is wrong with a %s, and its user is warned: %s", k.name, text(e, "message"))
				}
			}
			return true, ""
		})
		if err := f.objects(k).Delete(t.Context(), name, deleteOptions()); err != nil {
			t.Error(err)
		}
	}
}

// isNeedless reports whether an event warns. An exception: a busy API server answers 404 to a RoleBinding whose Role it has just
// created; the operator reports that, and creates the RoleBinding a moment later.
func isNeedless(e *unstructured.Unstructured) bool {
	return text(e, "type") == "Warning" && !strings.Contains(text(e, "message"), "rolebindings.rbac.authorization.k8s.io")
}

// named replaces the name of the object in its fields.
func (k *malformable) named(name string, content map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: content}).DeepCopy()
	if target := text(u, "spec", "target"); target != "" {
		_ = unstructured.SetNestedField(u.Object, strings.Replace(target, "placeholder", name, 1), "spec", "target") // spec is a map
	}
	return u.Object
}

// manyReplicas matches numbers of replicas that are a matter of size, and not malformed: no node has room for so many pods.
var manyReplicas = regexp.MustCompile(`(?i)replicas: the number [0-9]{3,}|(?i)replicas: the number 1e`)

// draw draws the malformed objects.
func (f *field) draw(t *testing.T) {
	t.Helper()
	for i, k := range f.kinds {
		whole := maps.Clone(k.valid)
		whole["status"] = k.status
		possible := slices.DeleteFunc(mutation.All(whole, k.shipped), func(m mutation.Mutation) bool { return manyReplicas.MatchString(m.Name()) })
		for n, m := range mutation.Sample(possible, *mutants/len(f.kinds), *seed+uint64(i)) {
			way := []string{"before", "beside", "edited"}[n%3]
			if m.Part == "status" {
				way = "edited"
			}
			f.mutants = append(f.mutants, &mutant{kind: k, Mutation: m, way: way, name: fmt.Sprintf("m%05d", len(f.mutants))})
		}
	}
}

// of returns the objects that become malformed in one of these ways.
func (f *field) of(ways ...string) (all []*mutant) {
	for _, m := range f.mutants {
		if slices.Contains(ways, m.way) {
			all = append(all, m)
		}
	}
	return all
}

// store stores objects, each in its way.
func (f *field) store(t *testing.T, all []*mutant) {
	t.Helper()
	f.each(t, all, func(ctx context.Context, m *mutant) error {
		valid := m.kind.named(m.name, m.kind.valid)
		if m.way != "edited" {
			return f.storeAs(ctx, m, m.kind.object(m.name, m.Apply(valid)), f.create)
		}
		if err := f.storeAs(ctx, m, m.kind.object(m.name, valid), f.create); err != nil {
			return err
		}
		if err := awaitObserved(ctx, f.objects(m.kind), m); err != nil {
			return err
		}
		return f.spoil(ctx, m, func(now map[string]any) map[string]any {
			if m.Part == "status" {
				now["status"] = m.kind.status
			}
			return m.Apply(now)
		})
	})
}

// each does something with objects, some at a time.
func (f *field) each(t *testing.T, all []*mutant, do func(context.Context, *mutant) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for _, m := range all {
		group.Go(func() error {
			if err := do(ctx, m); err != nil {
				return fmt.Errorf("%s: %w", m, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (f *field) create(ctx context.Context, k *malformable, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return f.objects(k).Create(ctx, u, metav1.CreateOptions{}) //nolint:wrapcheck // the caller looks at its code
}

func (f *field) storeAs(ctx context.Context, m *mutant, u *unstructured.Unstructured, how func(context.Context, *malformable, *unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	stored, err := how(ctx, m.kind, u)
	switch {
	case isRefused(err):
		m.isRefused = true
		return nil
	case err != nil:
		return err
	}
	m.took(stored)
	return nil
}

// isRefused reports whether the API server rejects an object, or no client can send it.
func isRefused(err error) bool {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status.ErrStatus.Code < 500 && status.ErrStatus.Code != http.StatusTooManyRequests && !apierrors.IsConflict(err)
	}
	return err != nil && (strings.Contains(err.Error(), "json") || strings.Contains(err.Error(), "unstructured"))
}

// awaitObserved waits until the operator has served the valid object.
func awaitObserved(ctx context.Context, objects dynamic.ResourceInterface, m *mutant) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := objects.Get(ctx, m.name, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("read it: %w", err)
		}
		return observedGeneration(now) == m.generation, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("it is valid, and was not served: %w", err)
	}
	return err
}

func observedGeneration(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return n
}

// spoil updates the current state of an object with a change, again if another client was faster.
func (f *field) spoil(ctx context.Context, m *mutant, change func(map[string]any) map[string]any) error {
	for {
		now, err := f.objects(m.kind).Get(ctx, m.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		changed := m.kind.object(m.name, change(now.Object))
		err = f.storeAs(ctx, m, changed, func(ctx context.Context, k *malformable, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if m.Part == "status" {
				return f.objects(k).UpdateStatus(ctx, u, metav1.UpdateOptions{}) //nolint:wrapcheck // the caller looks at its code
			}
			return f.objects(k).Update(ctx, u, metav1.UpdateOptions{}) //nolint:wrapcheck // likewise
		})
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// awaitEnds waits until each object has the end that its converter predicts.
func (f *field) awaitEnds(t *testing.T) {
	t.Helper()
	missing := ""
	f.await(t, "all objects to come to their ends", func(s sight) (bool, string) {
		left := 0
		for _, m := range f.mutants {
			if m.uid == "" || m.ended {
				continue
			}
			why := m.lacks(s)
			if m.ended = why == ""; !m.ended {
				left++
				missing = m.String() + ": " + why
			}
		}
		return left == 0, fmt.Sprintf("%d are left, such as %s", left, missing)
	})
}

// lacks returns what is missing of the end of an object; "": nothing.
//
//	the converter returns   the condition Stalled    reported in events
//	an object               not True, others are     each of its first warnings
//	a rejection             True                     each of its first problems
func (m *mutant) lacks(s sight) string {
	now := s.objects[m.uid]
	if now == nil {
		return "it has gone"
	}
	isStalled := history.Is(now, "Stalled")
	list := m.said.Warnings
	if m.said.Rejection != nil {
		list = m.said.Rejection.Problems
	}
	switch {
	case observedGeneration(now) != m.generation:
		return fmt.Sprintf("its status is about generation %d, not %d", observedGeneration(now), m.generation)
	case len(history.Conditions(now)) == 0:
		return "it has no condition"
	case isStalled != (m.said.Rejection != nil):
		return fmt.Sprintf("Stalled is %v; the converter says %v", isStalled, m.said.Rejection)
	}
	for _, p := range list {
		if !slices.ContainsFunc(s.events[m.uid], func(e *unstructured.Unstructured) bool { return text(e, "involvedObject", "fieldPath") == p.Path }) {
			return fmt.Sprintf("no event tells of %s", p)
		}
	}
	return ""
}

// awaitRest waits until the operators have nothing to do any longer, and checks that they had not too much.
func (f *field) awaitRest(t *testing.T) {
	t.Helper()
	for name, p := range f.processes {
		sum := func(metric string) float64 {
			n, _, err := p.Sample(t.Context(), metric)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		last := -1.0
		f.await(t, name+" to rest", func(sight) (bool, string) {
			added := sum("workqueue_adds_total{")
			waiting := sum("workqueue_depth{") + sum("_events_backlog ")
			isSame := added == last
			last = added
			return isSame && waiting == 0, fmt.Sprintf("%v keys were added, %v wait", added, waiting)
		})
		if most := float64(40*len(f.mutants) + 500); last > most {
			t.Errorf("%s queued %v keys for %d objects: at most %v", name, last, len(f.mutants), most)
		}
	}
}

// judge asks what must hold of each object at its end.
func (f *field) judge(t *testing.T) {
	t.Helper()
	s, err := f.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.mutants {
		if m.isRefused {
			f.refused++
			continue
		}
		if m.said.Rejection != nil {
			f.rejected++
		}
		for _, violation := range m.violations(s) {
			t.Errorf("%s: %s", m, violation)
		}
	}
}

func (m *mutant) violations(s sight) (found []string) {
	now := s.objects[m.uid]
	events := s.events[m.uid]
	if now == nil {
		return []string{"it has gone"}
	}
	isWarned := func(path string) bool {
		return slices.ContainsFunc(events, func(e *unstructured.Unstructured) bool {
			return text(e, "type") == "Warning" && (path == "" || text(e, "involvedObject", "fieldPath") == path)
		})
	}
	if m.said.Panic != nil {
		found = append(found, fmt.Sprintf("the converter panics: %s", m.said.Panic.Cause))
	}
	// This does not depend on the converter: the schema says so.
	if m.Contradicts && m.Part == "spec" && !isWarned(m.Path) {
		found = append(found, fmt.Sprintf("the value is of no type that the schema allows, and nobody is told: %v", history.Conditions(now)))
	}
	if m.said.Rejection == nil && history.State(now).Type == "" && !isWarned("") {
		found = append(found, "it is neither rejected nor acted on, and nobody is told")
	}
	times := int64(0)
	texts := []string{}
	for _, e := range events {
		count, _, _ := unstructured.NestedInt64(e.Object, "count")
		times += max(count, 1)
		texts = append(texts, text(e, "message"), text(e, "involvedObject", "fieldPath"))
	}
	if times > 60 {
		found = append(found, fmt.Sprintf("%d events", times))
	}
	for _, c := range history.Conditions(now) {
		if m.Part != "status" {
			texts = append(texts, c.Message, c.Type, c.Reason)
		}
	}
	for _, shown := range texts {
		if strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' }) {
			found = append(found, fmt.Sprintf("it is told with characters that confuse a terminal: %q", shown))
		}
	}
	return found
}

// repair repairs, as the user, what was rejected after an update. It is then served.
func (f *field) repair(t *testing.T) {
	t.Helper()
	broken := slices.DeleteFunc(f.of("edited"), func(m *mutant) bool { return m.uid == "" || m.said.Rejection == nil })
	f.each(t, broken, func(ctx context.Context, m *mutant) error {
		valid := m.kind.named(m.name, m.kind.valid)
		return f.spoil(ctx, m, func(now map[string]any) map[string]any {
			changed := maps.Clone(now)
			changed["spec"] = valid["spec"]
			return changed
		})
	})
	f.awaitEnds(t)
	for _, m := range broken {
		if m.said.Rejection != nil && m.Part == "spec" {
			t.Errorf("%s: it is repaired, and rejected: %v", m, m.said.Rejection.Problems)
		}
	}
}

// deleteAll deletes all objects, and waits until they are gone. Finalizers of others are removed as their owners would.
func (f *field) deleteAll(t *testing.T) {
	t.Helper()
	stored := slices.DeleteFunc(slices.Clone(f.mutants), func(m *mutant) bool { return m.uid == "" })
	f.each(t, stored, func(ctx context.Context, m *mutant) error {
		if m.Path == "metadata.finalizers" {
			if err := f.spoil(ctx, m, func(now map[string]any) map[string]any {
				u := (&unstructured.Unstructured{Object: now}).DeepCopy()
				u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(name string) bool { return name == m.What }))
				return u.Object
			}); err != nil {
				return err
			}
		}
		err := f.objects(m.kind).Delete(ctx, m.name, deleteOptions())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete it: %w", err)
		}
		return nil
	})
	f.await(t, "all objects to go", func(s sight) (bool, string) { return len(s.objects) == 0, fmt.Sprintf("%d are left", len(s.objects)) })
	pods := f.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(malformedSpace)
	f.await(t, "all pods to go", func(sight) (bool, string) {
		list, err := pods.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, fmt.Sprint(err, list != nil && len(list.Items) > 0)
	})
}
