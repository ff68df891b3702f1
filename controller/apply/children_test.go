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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"stoic/controller/consistency"
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
	meta := map[string]any{}
	if uid != "" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "example.org/v1", "kind": kind, "name": owner, "uid": uid, "controller": true}}
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
		{"a deleted widget's", schema.Pods(), owned("old", "Widget", "a", ""), func(err error) bool { return errors.Is(err, errOldOwner) && ClassOf(err) == Retry }, ""},
		{"another kind's", schema.Pods(), owned("old", "Thing", "a", ""), func(err error) bool { return errors.As(err, &conflict) }, ""},
		{"another widget's", schema.Pods(), owned("old", "Widget", "a-worker", ""), func(err error) bool { return errors.As(err, &conflict) }, ""},
		{"without an owner", schema.Pods(), owned("", "", "", ""), func(err error) bool { return errors.As(err, &conflict) && ClassOf(err) == Refused }, ""},
		{"gone", schema.Pods(), nil, func(err error) bool { return errors.Is(err, errOldOwner) }, ""},
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

// TestChildThatItsOwnerDoesNotReach: an object was copied with its owner reference into a namespace where the reference is not valid. The
// cache does not count it as a child. Garbage collection deletes it, and until then the name is taken.
func TestChildThatItsOwnerDoesNotReach(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put("/api/v1/namespaces/other/pods/a", owned("mine", "Widget", "a", "me"))
	made, err := a.createOne(t.Context(), someSeen(), schema.Object{Resource: schema.Pods(), Namespace: "other", Name: "a", Body: bodyOf(schema.Pods(), "a")})
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
	s.failing(func(request string) *metav1.Status {
		if strings.HasSuffix(request, " refused") {
			return statusOf(http.StatusForbidden)
		}
		return nil
	})
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
	s.locked(func() {
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
					s.locked(func() { s.Drop(at) })
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
