package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"stoic/controller/cache"
	"stoic/controller/consistency"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel"
)

func TestInParallel(t *testing.T) {
	var now, most, calls atomic.Int64
	failed := inParallel(5, 105, func(i int) error {
		calls.Add(1)
		for n := now.Add(1); ; {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer now.Add(-1)
		switch i {
		case 7:
			return errors.New("seven")
		case 9:
			panic("nine")
		}
		return nil
	})
	if calls.Load() != 100 || most.Load() > maxConcurrent {
		t.Errorf("%d calls, %d at once; want 100, at most %d", calls.Load(), most.Load(), maxConcurrent)
	}
	if len(failed) != 2 || failed[0].Error() != "seven" || !errors.Is(failed[1], ErrPanicked) {
		t.Errorf("failed: %v", failed)
	}
	if failed := inParallel(3, 3, nil); len(failed) != 0 {
		t.Errorf("nothing to do: %v", failed)
	}
}

// TestInParallelIsParallel: as many as may run at the same time do: each waits here for all the others.
func TestInParallelIsParallel(t *testing.T) {
	together, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all := make(chan struct{})
	var begun atomic.Int64
	failed := inParallel(0, maxConcurrent, func(int) error {
		if begun.Add(1) == maxConcurrent {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-together.Done():
			return together.Err()
		}
	})
	if len(failed) > 0 {
		t.Errorf("%d of %d waited in vain for the others", len(failed), maxConcurrent)
	}
}

func someHead() *schema.Head {
	return &schema.Head{Resource: widgets(), Meta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "mine", ResourceVersion: "7"}}
}

func someSeen() *schema.Observed { return &schema.Observed{Head: someHead()} }

// owned returns the metadata of an object with that controller and label, or without either if they are empty.
func owned(uid, kind, owner, label string) map[string]any {
	return ownedIn("example.org/v1", uid, kind, owner, label)
}

func ownedIn(apiVersion, uid, kind, owner, label string) map[string]any {
	meta := map[string]any{}
	if uid != "" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": apiVersion, "kind": kind, "name": owner, "uid": uid, "controller": true}}
	}
	if label != "" {
		meta["labels"] = map[string]any{"by": label}
	}
	return meta
}

func TestResolveAlreadyExists(t *testing.T) {
	var conflict *conflictError
	var unselected *notSelectedError
	done := func(err error) bool { return err == nil }
	isConflict := func(err error) bool { return errors.As(err, &conflict) && ClassOf(err) == Refused }
	waits := func(err error) bool { return errors.Is(err, errOldOwner) && ClassOf(err) == Retry }
	for _, c := range []struct {
		name     string
		resource schema.Resource
		meta     map[string]any
		want     func(error) bool
		labels   string // of the object afterwards
	}{
		{"ours", schema.Pods(), owned("mine", "Widget", "a", "me"), done, "me"},
		{"ours without its label", schema.Pods(), owned("mine", "Widget", "a", ""), func(err error) bool {
			return errors.As(err, &unselected) && isForAuthor(err) && ClassOf(err) == Refused && strings.Contains(err.Error(), "put it back")
		}, ""},
		{"ours, and gets its label back", gadgets(), owned("mine", "Widget", "a", "you"), done, "me"},
		{"ours, and a webhook takes its label away", gadgets(), owned("mine", "Widget", "a", "webhook"), func(err error) bool {
			return errors.As(err, &unselected) && unselected.selector == "by=me"
		}, "webhook"},
		{"a deleted widget's", schema.Pods(), owned("old", "Widget", "a", ""), waits, ""},
		{"another kind's", schema.Pods(), owned("old", "Thing", "a", ""), isConflict, ""},
		{"another widget's", schema.Pods(), owned("old", "Widget", "a-worker", ""), isConflict, ""},
		{"without an owner", schema.Pods(), owned("", "", "", ""), isConflict, ""},
		{"gone", schema.Pods(), nil, waits, ""},
		// Two kinds may have one name in two groups: the object of the other group is neither this object nor one of its predecessors.
		{"ours, written at another version", schema.Pods(), ownedIn("example.org/v1beta1", "mine", "Widget", "a", "me"), done, "me"},
		{"a deleted widget's, written at another version", schema.Pods(), ownedIn("example.org/v1beta1", "old", "Widget", "a", ""), waits, ""},
		{"of another group", schema.Pods(), ownedIn("example.com/v1", "old", "Widget", "a", ""), isConflict, ""},
		{"of the core group", schema.Pods(), ownedIn("v1", "old", "Widget", "a", ""), isConflict, ""},
		{"our UID in another group", schema.Pods(), ownedIn("example.com/v1", "mine", "Widget", "a", ""), isConflict, ""},
		{"our UID and another kind", schema.Pods(), owned("mine", "Thing", "a", ""), isConflict, ""},
		{"no version", schema.Pods(), ownedIn("a/b/c", "mine", "Widget", "a", ""), isConflict, ""},
		{"of a resource that is not watched", schema.Resource{Version: "v1", Plural: "secrets", Kind: "Secret"}, owned("mine", "Widget", "a", ""), done, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			at := "/" + strings.Join(path(c.resource, "ns", "a-worker-0"), "/")
			if c.meta != nil {
				s.put(at, c.meta)
			} else {
				s.failing(func(request string) *metav1.Status {
					if strings.HasPrefix(request, http.MethodPost) {
						taken := statusOf(http.StatusConflict)
						taken.Reason = metav1.StatusReasonAlreadyExists
						return taken
					}
					return nil
				})
			}
			if c.labels == "webhook" {
				s.keeping(func(o map[string]any) {
					o["metadata"].(map[string]any)["labels"] = map[string]any{"by": "webhook"}
				})
			}
			made, err := a.createOne(t.Context(), someSeen(), schema.Object{Resource: c.resource, Namespace: "ns", Name: "a-worker-0",
				Body: bodyOf(c.resource, "a-worker-0")})
			if made || !c.want(err) {
				t.Errorf("made: %v, error: %v", made, err)
			}
			if c.meta == nil {
				return
			}
			labels, _ := s.object(at)["metadata"].(map[string]any)["labels"].(map[string]any)
			if got, _ := labels["by"].(string); got != c.labels {
				t.Errorf("labels afterwards: %v", labels)
			}
		})
	}
}

// TestChildElsewhere: an object was copied with its owner reference into a namespace where the reference is not valid. Garbage collection
// deletes it, and until then the name is taken.
func TestChildElsewhere(t *testing.T) {
	s := newAPIServer(t)
	s.put("/api/v1/namespaces/other/pods/a", owned("mine", "Widget", "a", "me"))
	made, err := newTestApplier(t, s, nil).createOne(t.Context(), someSeen(), schema.Object{Resource: schema.Pods(), Namespace: "other", Name: "a", Body: bodyOf(schema.Pods(), "a")})
	if made || !errors.Is(err, errOldOwner) || ClassOf(err) != Retry {
		t.Errorf("made: %v, error: %v, want to wait for garbage collection", made, err)
	}
}

// TestRelabellingOfWhatIsGone: a child that has lost its labels is deleted between the GET and the patch. No cache shows it, so nothing
// else requeues the reconcile that creates it again.
func TestRelabellingOfWhatIsGone(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(gadgetsPath+"g", owned("mine", "Widget", "a", ""))
	s.failing(func(request string) *metav1.Status {
		if request == patchGadget {
			s.Drop(gadgetsPath + "g")
		}
		return nil
	})
	gadget := schema.Object{Resource: gadgets(), Namespace: "ns", Name: "g", Body: bodyOf(gadgets(), "g")}
	if made, err := a.createOne(t.Context(), someSeen(), gadget); made || !errors.Is(err, errOldOwner) || ClassOf(err) != Retry {
		t.Errorf("made: %v, error of class %d: %v; want one that is retried", made, ClassOf(err), err)
	}
	if made, err := a.createOne(t.Context(), someSeen(), gadget); !made || err != nil {
		t.Errorf("the next time: made: %v, error: %v", made, err)
	}
}

func TestRemove(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.refusing("* refused", statusOf(http.StatusForbidden))
	deletions := []schema.Deletion{{Resource: schema.Pods(), Namespace: "ns", Name: "gone", UID: "x"}}
	for _, name := range []string{"seen", "replaced", "refused", "changed"} {
		d := schema.Deletion{Resource: schema.Pods(), Namespace: "ns", Name: name, UID: s.put(podsPath+name, nil).UID}
		switch name {
		case "replaced":
			d.UID = "of the one before"
		case "changed":
			d.ResourceVersion = "1"
		}
		deletions = append(deletions, d)
	}
	err := a.remove(t.Context(), someHead(), schema.Plan{Delete: deletions}, "7")
	if err == nil || !strings.Contains(err.Error(), "delete Pod refused") || !strings.Contains(err.Error(), "delete Pod replaced") ||
		!errors.Is(err, ErrBehind) || ClassOf(err) != Retry {
		t.Errorf("error: %v", err)
	}
	var left []string
	s.Locked(func() {
		for _, o := range s.Objects("pods") {
			left = append(left, apimodel.Get(o, "metadata", "name").(string))
		}
	})
	if slices.Sort(left); !slices.Equal(left, []string{"changed", "refused", "replaced"}) {
		t.Errorf("left: %v", left)
	}
	if got := s.reported(t, "PodsDeleted"); got != "Deleted pod: seen" {
		t.Errorf("reported %q", got)
	}
	if got := s.reported(t, "PodsDeleteFailed"); !strings.Contains(got, "refused") {
		t.Errorf("reported %q", got)
	}
}

// TestDeletionAnsweredWithoutVersion: another request removed the pod between the two writes of our deletion, and the API server has no
// version to answer with (seen with a slow store). No cache can be compared with it: the pod is known to be gone.
func TestDeletionAnsweredWithoutVersion(t *testing.T) {
	version := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p","namespace":"ns","uid":"pod",
			"resourceVersion":%q,"deletionTimestamp":"2026-11-26T22:39:42Z","deletionGracePeriodSeconds":0}}`, version)
	}))
	t.Cleanup(server.Close)
	a := newTestApplier(t, newAPIServer(t), func(o *Options) {
		var err error
		if o.API, err = NewAPI(&rest.Config{Host: server.URL, QPS: -1}); err != nil {
			t.Fatal(err)
		}
	})
	shown := slices.Values([]types.UID{"pod"}) // by a cache that has not heard of it
	for _, test := range []struct {
		version string
		want    consistency.Freshness
	}{
		{"7", consistency.Fresh}, // Check waits for this version
		{"", consistency.Behind},
	} {
		head := someHead()
		head.Meta.UID, version = types.UID("owner of "+test.version), test.version
		if gone, err := a.removeOne(t.Context(), head, schema.Deletion{Resource: schema.Pods(), Namespace: "ns", Name: "p", UID: "pod"}); !gone || err != nil {
			t.Fatal(gone, err)
		}
		if got := a.Store.CheckChildren(head.Meta.UID, shown); got != test.want {
			t.Errorf("answered at version %q: a cache that shows the pod is %v", test.version, got)
		}
	}
}

// TestDeletionOfTheObjectItself: a plan that writes the status and the annotations of an object and deletes it needs one deletion, and
// what it counts is counted after that. If another client's change makes the deletion wrong, the decision is made again.
func TestDeletionOfTheObjectItself(t *testing.T) {
	s := newAPIServer(t)
	var counted []string
	a := newTestApplier(t, s, func(o *Options) {
		o.Count = func(_ *schema.Head, c schema.Count) { counted = append(counted, c.Counter) }
	})
	s.put(widgetsPath+"a", nil)
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	deletion := []schema.Deletion{{Resource: widgets(), Namespace: "ns", Name: "a", UID: head.Meta.UID, ResourceVersion: head.Meta.ResourceVersion}}
	plan := schema.Plan{Status: statusAt(1, "A"), Annotate: &schema.Annotate{Values: map[string]string{"done": "yes"}}, Delete: slices.Clone(deletion),
		Count: []schema.Count{{Counter: "deleted", After: schema.AfterDeletion}, {Counter: "status", After: schema.AfterStatus}, {Counter: "annotated", After: schema.AfterAnnotations}}}
	_, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan)
	if got := s.requests(); err != nil || !slices.Equal(got, []string{writeStatus, annotate, "DELETE widgets a"}) || s.object(widgetsPath+"a") != nil {
		t.Errorf("%v: %v", got, err)
	}
	if !slices.Equal(counted, []string{"status", "annotated", "deleted"}) {
		t.Errorf("counted: %v", counted)
	}
	if got := plan.Delete[0].ResourceVersion; got != deletion[0].ResourceVersion {
		t.Errorf("the plan was changed to version %s", got)
	}

	version := func() string { return "" } // of caches that show anything
	if got := a.Store.Check(head.Meta.UID, version, nil); got != consistency.Behind {
		t.Errorf("the cache that still shows it is %v: it would be deleted again and again", got)
	}
	s.put(widgetsPath+"a", map[string]any{"uid": string(head.Meta.UID)})
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Delete: slices.Clone(deletion)}); ClassOf(err) != Behind {
		t.Errorf("another writer's change: %v", err)
	}
	// A server that removes finalizers refuses every version after that, though no client has changed what was seen.
	head = s.head(t, "a")
	deletion[0].ResourceVersion = head.Meta.ResourceVersion
	refusals := 0
	s.failing(func(request string) *metav1.Status {
		if request == "DELETE widgets a" && refusals == 0 {
			refusals++
			return statusOf(http.StatusConflict)
		}
		return nil
	})
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Delete: deletion}); err != nil || s.object(widgetsPath+"a") != nil {
		t.Errorf("refused at the version that is still the newest: %v", err)
	}
}

// TestCreationInAnotherNamespace: the namespace of a child need not be that of its owner. Its absence or deletion says nothing of the
// owner: the user gets an event, and the creation is retried.
func TestCreationInAnotherNamespace(t *testing.T) {
	for name, answer := range map[string]metav1.Status{
		"deleted": terminatingStatus("elsewhere"),
		"absent": {TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: `namespaces "elsewhere" not found`,
			Details: &metav1.StatusDetails{Kind: "namespaces", Name: "elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			s.put(widgetsPath+"a", nil)
			s.failing(func(request string) *metav1.Status {
				if strings.HasPrefix(request, http.MethodPost) && !strings.Contains(request, " events ") {
					return &answer
				}
				return nil
			})
			head := s.head(t, "a")
			a.Store.SetVerified(head.Meta.UID)
			for range 2 {
				_, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Create: []schema.Object{
					{Resource: schema.Pods(), Namespace: "elsewhere", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)}}})
				if ClassOf(err) != Refused || !isForAuthor(err) || !strings.Contains(err.Error(), "create Pod p: namespace elsewhere does not exist, or is being deleted") {
					t.Errorf("class %d: %v", ClassOf(err), err)
				}
			}
		})
	}
}

// TestSharedName: a shared name that is taken is no conflict, is not touched, and is not requested in every reconcile.
func TestSharedName(t *testing.T) {
	for _, c := range []struct {
		name     string
		meta     map[string]any
		shared   bool
		conflict bool
		posts    int // of two reconciles
	}{
		{"free", nil, true, false, 2},
		{"somebody else's", owned("x", "Thing", "b", ""), true, false, 1},
		{"without an owner", owned("", "", "", ""), true, false, 1},
		{"somebody else's, and not shared", owned("x", "Thing", "b", ""), false, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			posts := 0
			s.failing(func(request string) *metav1.Status {
				if strings.HasPrefix(request, http.MethodPost) && !strings.Contains(request, "events") {
					posts++
				}
				return nil
			})
			a := newTestApplier(t, s, nil)
			at := "/" + strings.Join(path(gadgets(), "ns", "a"), "/")
			if c.meta != nil {
				s.put(at, c.meta)
			}
			o := schema.Object{Resource: gadgets(), Namespace: "ns", Name: "a", Body: json.RawMessage(`{"apiVersion":"example.org/v1","kind":"Gadget","metadata":{"name":"a","labels":{"by":"me"}}}`), Shared: c.shared}
			var errs []error
			for range 2 {
				_, _, _, err := a.createOptional(t.Context(), someSeen(), []schema.Object{o}, false)
				errs = append(errs, err)
				if c.meta == nil {
					s.Locked(func() { s.Drop(at) })
				}
			}
			if (errs[0] != nil) != c.conflict || posts != c.posts {
				t.Errorf("%d requests to create it, errors %v", posts, errs)
			}
		})
	}
}

// TestNameOfAChildThatDoesNotEnd: a child of a deleted object of the same name was deleted, too, and a finalizer keeps it. After a while the
// user learns what holds the name.
func TestNameOfAChildThatDoesNotEnd(t *testing.T) {
	for name, c := range map[string]struct {
		ago   time.Duration
		words string
	}{
		"a moment ago": {time.Second, errOldOwner.Error()},
		"a minute ago": {time.Minute, "the Pod of that name of a deleted widget still exists: it was deleted and does not end; finalizers keep it: example.com/hold"},
	} {
		s := newAPIServer(t)
		a := newTestApplier(t, s, nil)
		meta := owned("old", "Widget", "a", "")
		meta["deletionTimestamp"] = a.Now().Add(-c.ago).UTC().Format(time.RFC3339)
		meta["finalizers"] = []any{"example.com/hold"}
		s.put("/api/v1/namespaces/ns/pods/a", meta)
		made, err := a.createOne(t.Context(), someSeen(), schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a", Body: bodyOf(schema.Pods(), "a")})
		if made || !isTaken(err) || ClassOf(err) != Retry || !strings.HasSuffix(err.Error(), c.words) {
			t.Errorf("%s: made %v, error %v", name, made, err)
		}
	}
}

// TestDeletionOfAChildAsSeen: the API server answers 409 to a deletion that names a resourceVersion; what that means depends on what the
// child is now. A conflict that remains is retried with a back-off; only a cache that is behind is waited for.
func TestDeletionOfAChildAsSeen(t *testing.T) {
	const deletes, looks = "DELETE gadgets g", "GET gadgets g"
	for name, c := range map[string]struct {
		finalizers []any
		prepare    func(*apiServer, *schema.Deletion)
		want       []string
		class      Class
		left       bool
	}{
		"as seen": {want: []string{deletes}},
		// An API server that removes the finalizer refuses every version after that, as for the object itself.
		"the finalizer orphan": {finalizers: []any{"orphan"}, want: []string{deletes, looks, deletes}},
		"a webhook says 409": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.refusing(deletes, statusOf(http.StatusConflict))
		}, want: []string{deletes, looks, deletes}, class: Retry, left: true},
		"changed": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.put(gadgetsPath+"g", map[string]any{"labels": map[string]any{"x": "y"}})
		}, want: []string{deletes, looks}, class: Behind, left: true},
		"replaced": {prepare: func(_ *apiServer, d *schema.Deletion) {
			d.UID = "of the one before"
		}, want: []string{deletes, looks}, class: Retry, left: true},
		"gone meanwhile": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.failing(func(request string) *metav1.Status {
				if request != deletes {
					return nil
				}
				s.Drop(gadgetsPath + "g")
				return statusOf(http.StatusConflict)
			})
		}, want: []string{deletes, looks}},
		"the look fails": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.failing(func(request string) *metav1.Status {
				return statusOf(map[bool]int{true: http.StatusConflict, false: http.StatusInternalServerError}[request == deletes])
			})
		}, want: []string{deletes, looks}, class: Retry, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			seen := s.put(gadgetsPath+"g", map[string]any{"finalizers": c.finalizers})
			d := schema.Deletion{Resource: gadgets(), Namespace: "ns", Name: "g", UID: seen.UID, ResourceVersion: seen.ResourceVersion}
			if c.prepare != nil {
				c.prepare(s, &d)
			}
			err := a.remove(t.Context(), someHead(), schema.Plan{Delete: []schema.Deletion{d}}, "7")
			if ClassOf(err) != c.class || err != nil && !strings.Contains(err.Error(), "delete Gadget g") {
				t.Errorf("error of class %d, want %d: %v", ClassOf(err), c.class, err)
			}
			if diff := cmp.Diff(c.want, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if left := s.object(gadgetsPath+"g") != nil; left != c.left {
				t.Errorf("it is there: %v", left)
			}
			at := func() string { return seen.ResourceVersion } // of a cache that shows the child as it was seen
			waits := a.Store.Check("mine", at, []func() string{nil, nil, at}) != consistency.Fresh ||
				a.Store.CheckChildren("mine", slices.Values([]types.UID{seen.UID})) != consistency.Fresh
			if want := c.class != Retry; waits != want {
				t.Errorf("the cache that shows the child as it was seen is waited for: %v, want %v", waits, want)
			}
		})
	}
}

const secretPath = "/api/v1/namespaces/ns/secrets/a-ssh"

// withSecrets adds a dependent that is generated and not watched.
func withSecrets(generator watch.Generator) func(*Options) {
	return func(o *Options) {
		source := cache.Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}
		o.Dependents = append(o.Dependents, cache.NewDependents(source, nil, &watch.Owned{Resource: schema.Secrets(), Unwatched: true,
			Generators: map[string]watch.Generator{"key": generator}, Reasons: watch.Reasons{CreateFailed: "SecretFailed", Created: "SecretCreated"}}, nil, nil))
	}
}

func secret(owner string) schema.Object {
	return schema.Object{Resource: schema.Secrets(), Namespace: "ns", Name: "a-ssh", Generate: "key",
		Body: schema.JSON(map[string]any{"metadata": withName(owned(owner, "Widget", "a", ""), "a-ssh"), "type": "t"})}
}

func withName(meta map[string]any, name string) map[string]any {
	meta["name"] = name
	return meta
}

// TestGeneratedFields: what is generated reaches the API server, and nothing else: not the plan, no log line, no event, no error.
func TestGeneratedFields(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
	const private = "cHJpdmF0ZQ=="
	logs, lines := observer.New(zap.DebugLevel)
	a := newTestApplier(t, s, func(o *Options) {
		withSecrets(func() (map[string]any, error) { return map[string]any{"data": map[string]string{"k": private}}, nil })(o)
		o.Log = zap.New(logs)
	})
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	plan := schema.Plan{Create: []schema.Object{secret("mine")}}

	s.refusing("POST secrets*", statusOf(422)) // a server that says back what it was sent
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err == nil || strings.Contains(err.Error(), private) {
		t.Errorf("refused: %v", err)
	}
	s.failing(nil)
	a.Forget(head.Meta.UID)
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil {
		t.Fatal(err)
	}
	stored := s.object(secretPath)
	if diff := cmp.Diff(map[string]any{"k": private}, stored["data"]); diff != "" || stored["type"] != "t" {
		t.Errorf("%v (-want +got):\n%s", stored, diff)
	}
	if strings.Contains(string(plan.Create[0].Body), private) {
		t.Error("the plan holds what was generated")
	}
	if message := s.reported(t, "SecretFailed") + s.reported(t, "SecretCreated"); strings.Contains(message, private) {
		t.Errorf("an event says %q", message)
	}
	for _, line := range lines.All() {
		if strings.Contains(line.Message, private) || strings.Contains(string(schema.JSON(line.ContextMap())), private) {
			t.Errorf("logged: %s %v", line.Message, line.ContextMap())
		}
	}
}

// TestGeneratorsThatFail: a generator that fails, or that the watch does not have, is an error, and nothing is posted.
func TestGeneratorsThatFail(t *testing.T) {
	s := newAPIServer(t)
	broken := errors.New("no randomness")
	a := newTestApplier(t, s, withSecrets(func() (map[string]any, error) { return nil, broken }))
	if _, err := a.createOne(t.Context(), someSeen(), secret("mine")); !errors.Is(err, broken) {
		t.Error(err)
	}
	unknown := secret("mine")
	unknown.Generate = "other"
	if _, err := a.createOne(t.Context(), someSeen(), unknown); err == nil || ClassOf(err) != Retry {
		t.Error(err)
	}
	if seen := s.requests(); len(seen) > 0 {
		t.Errorf("requests: %v", seen)
	}
}

// TestUnwatchedComesFirst: an unwatched child exists before the same plan creates what follows: no later plan would create it, as none
// sees that it is missing. A job that takes the name of one that has just been deleted finds the Service and the Secret of that one.
func TestUnwatchedComesFirst(t *testing.T) {
	for name, refusal := range map[string]struct {
		prepare func(*apiServer)
		repair  func(*apiServer)
	}{
		"refused": {
			func(s *apiServer) {
				s.refusing("POST secrets*", statusOf(422))
			},
			func(s *apiServer) { s.failing(nil) },
		},
		"of a widget that had the name": {
			func(s *apiServer) { s.put(secretPath, owned("older", "Widget", "a", "")) },
			func(s *apiServer) { s.Locked(func() { s.Drop(secretPath) }) },
		},
		"somebody's": {
			func(s *apiServer) { s.put(secretPath, owned("", "", "", "")) },
			func(s *apiServer) { s.Locked(func() { s.Drop(secretPath) }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			now := time.Unix(1000, 0)
			s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
			a := newTestApplier(t, s, func(o *Options) {
				withSecrets(func() (map[string]any, error) {
					return map[string]any{"data": map[string]string{"k": "cHJpdmF0ZQ=="}}, nil
				})(o)
				o.Now = func() time.Time { return now }
			})
			head := s.head(t, "a")
			a.Store.SetVerified(head.Meta.UID)
			pod := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: bodyOf(schema.Pods(), "p")}
			plan := schema.Plan{Create: []schema.Object{secret("mine"), pod}}
			const podPath = "/api/v1/namespaces/ns/pods/p"
			refusal.prepare(s)
			for try := range 3 {
				requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan)
				if err == nil && requeue <= 0 {
					t.Errorf("try %d: nobody comes back for it", try)
				}
				if s.object(podPath) != nil {
					t.Fatalf("try %d: the pod is created without what it needs", try)
				}
			}
			refusal.repair(s)
			now = now.Add(LastRefused)
			if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil || s.object(podPath) == nil || s.object(secretPath) == nil {
				t.Errorf("they are not created when they may be: %v", err)
			}
		})
	}
}

// TestUnwatchedIsLookedAtOnce: a decision that needs an unwatched child names it each time, as it never sees it. That costs one request
// until the next check is due, and no other. A deleted one is created again then, for another plan, and whenever the plan creates what
// needs it. It never keeps a pod from being created.
func TestUnwatchedIsLookedAtOnce(t *testing.T) {
	s := newAPIServer(t)
	now := time.Unix(1000, 0)
	s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
	s.put(secretPath, owned("mine", "Widget", "a", ""))
	a := newTestApplier(t, s, func(o *Options) {
		withSecrets(func() (map[string]any, error) { return nil, nil })(o)
		o.Now = func() time.Time { return now }
	})
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	const post, look = "POST secrets a-ssh", "GET secrets a-ssh"
	other := secret("mine")
	other.Body = schema.JSON(map[string]any{"metadata": withName(owned("mine", "Widget", "a", ""), "a-ssh"), "type": "u"})
	pod := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: bodyOf(schema.Pods(), "p")}
	for _, step := range []struct {
		what    string
		after   time.Duration
		deleted bool
		create  []schema.Object
		want    []string
		requeue time.Duration
	}{
		{what: "it is there", create: []schema.Object{secret("mine")}, want: []string{post, look}},
		{what: "nothing has happened", create: []schema.Object{secret("mine")}},
		{what: "the next look", after: FirstRefused, create: []schema.Object{secret("mine")}, want: []string{post, look}},
		{what: "another plan", create: []schema.Object{other}, want: []string{post, look}},
		{what: "with a pod", create: []schema.Object{other, pod}, want: []string{post, look, createPod}, requeue: RequeueFallback},
		{what: "deleted", deleted: true, create: []schema.Object{other}},
		{what: "deleted, and the next look", after: LastRefused, create: []schema.Object{other}, want: []string{post}},
		{what: "it was made", create: []schema.Object{other}},
		{what: "deleted, with a pod", deleted: true, create: []schema.Object{other, pod}, want: []string{post, createPod}, requeue: RequeueFallback},
	} {
		now = now.Add(step.after)
		if step.deleted {
			s.Locked(func() { s.Drop(secretPath) })
		}
		s.requests()
		requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Create: step.create})
		if err != nil || requeue != step.requeue {
			t.Errorf("%s: requeued in %s, want %s: %v", step.what, requeue, step.requeue, err)
		}
		got := slices.DeleteFunc(s.requests(), func(request string) bool { return request == "GET widgets a" }) // see verifyFresh
		if diff := cmp.Diff(step.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", step.what, diff)
		}
		s.Locked(func() { s.Drop(podsPath + "p") })
	}
}

// TestPatchOfAStatus: a patch of a subresource is as conditional as one of the object, and is remembered separately.
func TestPatchOfAStatus(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	meta := s.put(gadgetsPath+"g", nil)
	s.Locked(func() {
		stored := s.Store(gadgetsPath+"g", map[string]any{"status": map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": 1}})
		meta.ResourceVersion = apimodel.Get(stored, "metadata", "resourceVersion").(string)
	})
	child := schema.Child{Namespace: "ns", Name: "g", UID: meta.UID, ResourceVersion: meta.ResourceVersion}
	patch := child.PatchStatus(gadgets(), map[string]any{"startTime": nil})
	if _, err := a.patch(t.Context(), someHead(), []schema.Patch{patch}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.patch(t.Context(), someHead(), []schema.Patch{patch}); ClassOf(err) != Retry {
		t.Errorf("at a version that is over: %v", err)
	}
	if diff := cmp.Diff([]string{"PATCH gadgets g status", "PATCH gadgets g status"}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"active": int64(1)}, s.object(gadgetsPath + "g")["status"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.refusing("*status", statusOf(422))
	child.ResourceVersion = s.object(gadgetsPath + "g")["metadata"].(map[string]any)["resourceVersion"].(string)
	again := []schema.Patch{child.PatchStatus(gadgets(), map[string]any{"startTime": nil}), child.Patch(gadgets(), map[string]any{"spec": map[string]any{"suspend": false}})}
	for range 2 {
		_, _ = a.patch(t.Context(), someHead(), again[:1])
	}
	wait, err := a.patch(t.Context(), someHead(), again)
	if wait <= 0 || wait > time.Hour || err != nil {
		t.Errorf("waits for %v: %v", wait, err)
	}
	if diff := cmp.Diff([]string{"PATCH gadgets g status", "PATCH gadgets g"}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
