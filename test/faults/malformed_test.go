package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
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
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/examples/operators/foobar"
	"stoic/test/faults/history"
	"stoic/test/faults/mutation"
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
// and by an update while it runs. It asks: is the user of each object told what the converter says, with the path? Is anything silent?
// Is anything written or queued without end? Are healthy jobs slower?
func TestMalformed(t *testing.T) {
	operator.Full(t)
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
	f.draw()
	f.each(t, "before", f.store)
	f.startOperators(t)
	canary := g.startCanary(t)
	f.each(t, "beside", f.spoil)
	f.awaitEnds(t)
	during := canary.end(t)
	f.awaitRest(t)
	f.judge(t)
	canary = g.startCanary(t)
	after := canary.end(t)
	// On a machine with other work both are slow. A job that waits for malformed objects waits for minutes, or for ever.
	if limit := max(15*time.Second, 5*after); during > limit {
		t.Errorf("healthy jobs took %v while malformed objects were stored, %v afterwards; at most %v", during, after, limit)
	}
	stored := len(f.mutants) - f.refused
	fmt.Printf("mutants %d, of which %d were stored; %d rejected; canaries after %v, without %v\n", len(f.mutants), stored, f.rejected, during, after)
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
	way  string // before or beside: how it becomes malformed
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
	f.processes = map[string]*operator.Process{"training": operator.InTest(t, f.training(t)), "foobar": operator.InTest(t, foobars)}
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
func (f *field) draw() {
	for i, k := range f.kinds {
		possible := slices.DeleteFunc(mutation.All(k.valid, k.shipped), func(m mutation.Mutation) bool { return manyReplicas.MatchString(m.Name()) })
		for n, m := range mutation.Sample(possible, *mutants/len(f.kinds), *seed+uint64(i)) {
			way := []string{"before", "beside"}[n%2]
			f.mutants = append(f.mutants, &mutant{kind: k, Mutation: m, way: way, name: fmt.Sprintf("m%05d", len(f.mutants))})
		}
	}
}

// each does something with the objects that become malformed in one way, some at a time.
func (f *field) each(t *testing.T, way string, do func(context.Context, *mutant) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for _, m := range f.mutants {
		if m.way != way {
			continue
		}
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

// store creates the malformed object.
func (f *field) store(ctx context.Context, m *mutant) error {
	u, err := f.objects(m.kind).Create(ctx, m.kind.object(m.name, m.Apply(m.kind.named(m.name, m.kind.valid))), metav1.CreateOptions{})
	return m.took(u, err)
}

// spoil creates a valid object and makes it malformed by an update, again if another client was faster.
func (f *field) spoil(ctx context.Context, m *mutant) error {
	objects := f.objects(m.kind)
	u, err := objects.Create(ctx, m.kind.object(m.name, m.kind.named(m.name, m.kind.valid)), metav1.CreateOptions{})
	if err := m.took(u, err); err != nil {
		return err
	}
	for {
		now, err := objects.Get(ctx, m.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		u, err = objects.Update(ctx, m.kind.object(m.name, m.Apply(now.Object)), metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return m.took(u, err)
		}
	}
}

// took records what a request has stored, or that it was refused.
func (m *mutant) took(u *unstructured.Unstructured, err error) error {
	if isRefused(err) {
		m.isRefused = true
		return nil
	}
	if err != nil {
		return err
	}
	m.uid = u.GetUID()
	m.generation = u.GetGeneration()
	m.said = m.kind.convert(u).Brief()
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

func observedGeneration(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return n
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
		texts = append(texts, c.Message, c.Type, c.Reason)
	}
	for _, shown := range texts {
		if strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' }) {
			found = append(found, fmt.Sprintf("it is told with characters that confuse a terminal: %q", shown))
		}
	}
	return found
}
