package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write the plans that were made into testdata")

// A story is a list of reconciles of one job. Each step changes the cluster, makes a plan and executes it.
type step struct {
	Note       string               `json:"note"`
	Kind       string               `json:"kind"`  // of the first step; a TFJob without
	After      float64              `json:"after"` // seconds since the last step
	Edit       json.RawMessage      `json:"edit"`  // of the knobs, a new generation
	Problems   *[]schema.Problem    `json:"problems"`
	Warnings   []schema.Problem     `json:"warnings"`
	Pods       map[string]string    `json:"pods"`       // without the job's name; "=name" for a whole name; ALL workers
	Services   map[string]string    `json:"services"`   // there, deleting, gone
	Dependents map[string]dependent `json:"dependents"` // "KIND NAME"
	Unseen     map[string]string    `json:"unseen"`     // by group and version: why
	Status     *training.Status     `json:"status"`     // tampered with
	Delete     bool                 `json:"delete"`     // the job, which raises its generation
	Finalizers []string             `json:"finalizers"` // of the job
	Slow       bool                 `json:"slow"`
	Prune      bool                 `json:"prune"`
	Bodies     bool                 `json:"bodies"` // print what is created in full
	Brief      bool                 `json:"brief"`  // print the rule only
	Aging      bool                 `json:"aging"`  // pods know when they were created, from now on
	Crash      string               `json:"crash"`  // right after the status, or the ledger
	Ledger     *training.Ledger     `json:"ledger"` // tampered with
	// Priorities are those of the cluster's classes; an empty map says that there are none.
	Priorities training.Priorities `json:"priorities"`
}

// dependent is a change of an existing dependent object, or one that a user creates by hand.
type dependent struct {
	Phase    *string         `json:"phase"`
	Spec     json.RawMessage `json:"spec"`
	Content  json.RawMessage `json:"content"` // the whole object
	Deleting bool            `json:"deleting"`
	Gone     bool            `json:"gone"`
}

func (w *cluster) setDependent(key string, e dependent) {
	stored := w.dependents[key]
	if stored == nil {
		kind, name, _ := strings.Cut(key, " ")
		stored = &training.StoredDependent{Resource: schema.Resource{Group: "by.hand", Kind: kind}, Name: name, UID: "foreign"}
		for _, r := range append([]schema.Resource{training.Gang{Scheduler: cmp.Or(w.Gang, "volcano")}.Resource(), training.Autoscalers()}, w.kind.DependentKinds...) {
			if r.Kind == kind {
				stored.Resource = r
			}
		}
		w.dependents[key] = stored
	}
	if e.Phase != nil {
		stored.Phase = *e.Phase
	}
	if e.Spec != nil {
		stored.Spec = e.Spec
	}
	if e.Content != nil {
		w.remember(key, e.Content)
	}
	if stored.Deleting = e.Deleting; e.Deleting && stored.Ending == nil {
		stored.Ending = &training.Ending{At: w.now, Finalizers: []string{"example.com/hold"}}
	}
	if e.Gone {
		delete(w.dependents, key)
	}
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []txtar.File
		for _, f := range archive.Files {
			name, isStory := strings.CutSuffix(f.Name, ".yaml")
			if !isStory {
				continue
			}
			i := len(out)
			out = append(out, f)
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				got := tellStory(t, f.Data)
				want := ""
				for _, other := range archive.Files {
					if other.Name == name+".plan" {
						want = string(other.Data)
					}
				}
				if diff := gocmp.Diff(want, got); diff != "" && !*update {
					t.Errorf("plan (-want +got):\n%s", diff)
				}
				out = append(out, txtar.File{Name: name + ".plan", Data: []byte(got)})
			})
			if len(out) == i+1 && *update {
				t.Fatalf("%s/%s: not updated", file, name)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: out}), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func tellStory(t *testing.T, data []byte) string {
	var steps []step
	if err := yaml.UnmarshalStrict(data, &steps); err != nil {
		t.Fatal(err)
	}
	w := newCluster()
	var out strings.Builder
	for i, p := range steps {
		w.change(t, i, p)
		o := w.observe()
		plan, rule := decide(o)
		checkPlan(t, o, plan)
		fmt.Fprintf(&out, "reconcile %d at %s, generation %d: %s%s\n", i+1, clock(&w.now), w.meta.Generation, rule, note(p.Note))
		if !p.Brief {
			printPlan(&out, plan, p.Bodies)
		}
		switch p.Crash {
		case "status":
			plan.Ledger, plan.Delete, plan.Patch, plan.Create = nil, nil, nil, nil
		case "ledger":
			plan.Delete, plan.Patch, plan.Create = nil, nil, nil
		}
		if err := w.apply(plan); err != nil {
			t.Fatalf("reconcile %d: %v", i+1, err)
		}
	}
	return out.String()
}

func (w *cluster) change(t *testing.T, i int, p step) {
	for _, kind := range kinds.All() {
		if p.Kind == kind.Name {
			w.become(kind)
		}
	}
	w.now = w.now.Add(time.Duration(p.After * float64(time.Second)))
	w.slow, w.prune, w.aging = p.Slow, p.Prune, w.aging || p.Aging
	if p.Edit != nil {
		if err := json.Unmarshal(p.Edit, &w.knobs); err != nil {
			t.Fatal(err)
		}
	}
	if p.Problems != nil {
		w.problems = *p.Problems
	}
	if p.Warnings != nil {
		w.warnings = p.Warnings
	}
	if i > 0 && (p.Edit != nil || p.Problems != nil || p.Warnings != nil) {
		w.meta.Generation++
	}
	full := func(name string) string {
		if exact, ok := strings.CutPrefix(name, "="); ok {
			return exact
		}
		return w.meta.Name + "-" + name
	}
	for name, words := range p.Pods {
		if name == "ALL" {
			for pod := range w.pods {
				if strings.HasPrefix(pod, full("worker-")) {
					w.setPod(t, pod, words)
				}
			}
			continue
		}
		w.setPod(t, full(name), words)
	}
	for name, word := range p.Services {
		name := full(name)
		switch word {
		case "gone":
			delete(w.services, name)
		default:
			w.services[name] = &training.Service{Name: name, UID: "foreign", Deleting: word == "deleting"}
			if word == "deleting" {
				w.services[name].Ending = &training.Ending{At: w.now, Finalizers: []string{"example.com/hold"}}
			}
		}
	}
	for key, e := range p.Dependents {
		w.setDependent(key, e)
	}
	if p.Unseen != nil {
		w.unseen = nil
		for _, r := range []schema.Resource{training.PodGroups(), training.PluginPodGroups(), training.Autoscalers(), training.Roles()} {
			if why, ok := p.Unseen[r.APIVersion()]; ok {
				w.unseen = append(w.unseen, training.Unavailable{Resource: r, Why: why})
			}
		}
	}
	if p.Priorities != nil {
		w.priorities = p.Priorities
	}
	if p.Status != nil {
		w.status = *p.Status
	}
	if p.Ledger != nil {
		w.tamper(*p.Ledger)
	}
	if p.Finalizers != nil {
		w.meta.Finalizers = p.Finalizers
	}
	if p.Delete {
		w.meta.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.meta.Generation++
	}
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func clock(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%+gs", t.Sub(epoch).Seconds())
}

func clockOf(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return clock(&t.Time)
}

func printPlan(out *strings.Builder, p Plan, bodies bool) {
	if s := p.Status; s != nil {
		fmt.Fprintf(out, "  status  started %s, completed %s, observed generation %d\n",
			clockOf(s.StartTime), clockOf(s.CompletionTime), s.ObservedGeneration)
		for _, c := range s.Conditions {
			fmt.Fprintf(out, "          %s %s %s, updated %s, since %s: %s\n", c.Type, c.Status, c.Reason,
				clockOf(&c.LastUpdateTime), clockOf(&c.LastTransitionTime), c.Message)
		}
		for _, rtype := range slices.Sorted(maps.Keys(s.ReplicaStatuses)) {
			r := s.ReplicaStatuses[rtype]
			fmt.Fprintf(out, "          %s: %d active, %d succeeded, %d failed%s\n", rtype, r.Active, r.Succeeded, r.Failed,
				cmp.Or(strings.Repeat(", select "+r.Selector, min(len(r.Selector), 1)), ""))
		}
	}
	if l := p.Ledger; l != nil {
		fmt.Fprintf(out, "  ledger  %d restarts", l.Restarts)
		if l.Disruptions > 0 {
			fmt.Fprintf(out, ", %d disruptions", l.Disruptions)
		}
		if l.Terminal != "" {
			fmt.Fprintf(out, ", %s at %s", l.Terminal, clockOf(l.At))
		}
		for _, label := range slices.Sorted(maps.Keys(l.Succeeded)) {
			fmt.Fprintf(out, ", %s %s succeeded", label, l.Succeeded[label])
		}
		if l.LastFailure != nil {
			fmt.Fprintf(out, ", last failure %s", l.LastFailure)
		}
		if len(l.Failed) > 0 {
			fmt.Fprint(out, ":")
		}
		for i, name := range slices.SortedFunc(maps.Keys(l.Failed), byName) {
			if i == 5 {
				fmt.Fprintf(out, " and %d more", len(l.Failed)-i)
				break
			}
			fmt.Fprintf(out, " %s %s (%d in a row)", name, l.Failed[name].Pod, l.Failed[name].ConsecutiveFailures)
		}
		fmt.Fprintln(out)
	}
	for _, e := range p.Events {
		fmt.Fprintf(out, "  event   %s %s [%s] %s%s\n", e.Type, e.Reason,
			strings.NewReplacer(epoch.Format("2006-01-02T"), "", "Z", "").Replace(e.Occasion),
			cmp.Or(strings.Repeat("("+e.FieldPath+") ", min(len(e.FieldPath), 1)), ""), e.Message)
	}
	for i, d := range p.Delete {
		if i == 10 {
			fmt.Fprintf(out, "  delete  and %d more\n", len(p.Delete)-i)
			break
		}
		fmt.Fprintf(out, "  delete  %s %s %s\n", strings.ToLower(d.Resource.Kind), d.Name, d.UID)
	}
	for _, u := range p.Patch {
		fmt.Fprintf(out, "  update  %s %s %s\n", strings.ToLower(u.Resource.Kind), u.Name, u.Body)
	}
	for i, o := range p.Create {
		if i == 10 {
			fmt.Fprintf(out, "  create  and %d more\n", len(p.Create)-i)
			break
		}
		fmt.Fprintf(out, "  create  %s %s\n", strings.ToLower(o.Resource.Kind), o.Name)
		if bodies {
			var b bytes.Buffer
			if err := json.Indent(&b, o.Body, "          ", "  "); err != nil {
				b.WriteString(err.Error())
			}
			fmt.Fprintf(out, "          %s\n", b.String())
		}
	}
	if p.Requeue != 0 {
		fmt.Fprintf(out, "  recheck in %s\n", p.Requeue)
	}
	for _, c := range p.Count {
		fmt.Fprintf(out, "  count   %s\n", strings.TrimSpace(string(c.Counter)+" "+string(c.Code)+took(c)))
	}
}

// took returns the measured duration of a count as text, if there is one.
func took(c Count) string {
	if c.Took == 0 {
		return ""
	}
	return "after " + c.Took.String()
}
