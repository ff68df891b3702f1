package history

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// script is an API server that returns the given answers, one for each request; a request beyond the script ends it.
type script struct {
	dynamic.ResourceInterface
	answers []any // of a list: *UnstructuredList or error; of a watch: []watch.Event or error
	asked   []string
	stop    context.CancelFunc
}

func (s *script) next(asked string) any {
	s.asked = append(s.asked, asked)
	if len(s.answers) == 0 {
		s.stop()
		return apierrors.NewInternalError(context.Canceled)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer
}

func (s *script) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	switch answer := s.next("list " + o.ResourceVersion).(type) {
	case *unstructured.UnstructuredList:
		return answer, nil
	case error:
		return nil, answer
	}
	return nil, fmt.Errorf("the script has another request here")
}

func (s *script) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	switch answer := s.next("watch " + o.ResourceVersion).(type) {
	case []watch.Event:
		w := watch.NewFakeWithChanSize(len(answer), false)
		for _, event := range answer {
			w.Action(event.Type, event.Object)
		}
		w.Stop() // what was sent is still received
		return w, nil
	case error:
		return nil, answer
	}
	return nil, fmt.Errorf("the script has another request here")
}

func listOf(version string, items ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(version)
	for _, u := range items {
		list.Items = append(list.Items, *u)
	}
	return list
}

// TestStream: cuts lose and duplicate nothing; where something may be lost, a gap is reported.
func TestStream(t *testing.T) {
	pod := func(name, uid string, version int) *unstructured.Unstructured {
		return object(t, "Pod", "job-"+name, uid, version, "")
	}
	added := func(u *unstructured.Unstructured) watch.Event { return watch.Event{Type: watch.Added, Object: u} }
	modified := func(u *unstructured.Unstructured) watch.Event { return watch.Event{Type: watch.Modified, Object: u} }
	deleted := func(u *unstructured.Unstructured) watch.Event { return watch.Event{Type: watch.Deleted, Object: u} }
	expired := apierrors.NewResourceExpired("too old")
	future := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}}}
	missing := apierrors.NewNotFound(resource("Pod").GroupResource(), "")
	for name, test := range map[string]struct {
		answers         []any
		asked, reported []string
		gaps            int
	}{
		"cut": {
			answers:  []any{listOf("5", pod("a", "a", 3)), []watch.Event{modified(pod("a", "a", 6))}, []watch.Event{}, []watch.Event{deleted(pod("a", "a", 7))}},
			asked:    []string{"list ", "watch 5", "watch 6", "watch 6", "watch 7"},
			reported: []string{"ADDED job-a a 3", "MODIFIED job-a a 6", "DELETED job-a a 7"},
		},
		"refused": {
			answers:  []any{listOf("5"), apierrors.NewTooManyRequests("", 0), []watch.Event{added(pod("a", "a", 6))}},
			asked:    []string{"list ", "watch 5", "watch 5", "watch 6"},
			reported: []string{"ADDED job-a a 6"},
		},
		"bookmark": {
			answers: []any{listOf("5"), []watch.Event{{Type: watch.Bookmark, Object: pod("", "", 9)}}},
			asked:   []string{"list ", "watch 5", "watch 9"},
		},
		"expired": {
			answers: []any{listOf("5", pod("a", "a", 3), pod("b", "b", 4), pod("c", "c", 5)), []watch.Event{{Type: watch.Error, Object: &expired.ErrStatus}},
				listOf("20", pod("a", "a", 3), pod("c", "d", 18))},
			asked:    []string{"list ", "watch 5", "list ", "watch 20"},
			reported: []string{"ADDED job-a a 3", "ADDED job-b b 4", "ADDED job-c c 5", "DELETED job-c c 18", "ADDED job-c d 18", "DELETED job-b b 20"},
			gaps:     1,
		},
		"restored to the past": {
			answers:  []any{listOf("50", pod("a", "a", 40)), future, listOf("30", pod("a", "a", 20))},
			asked:    []string{"list ", "watch 50", "list ", "watch 30"},
			reported: []string{"MODIFIED job-a a 20", "ADDED job-a a 40"},
			gaps:     1,
		},
		"not served at first": {
			answers: []any{missing, listOf("5")},
			asked:   []string{"list ", "list ", "watch 5"},
		},
		"served, and something is there": {
			answers:  []any{missing, listOf("5", pod("a", "a", 3))},
			asked:    []string{"list ", "list ", "watch 5"},
			reported: []string{"ADDED job-a a 3"},
			gaps:     1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			r, s := newRecorder(), &script{answers: test.answers, stop: cancel}
			newStream(r, resource("Pod"), s).run(ctx)
			l := r.RunOf(subjectOf("job"))
			var reported []string
			for _, v := range l.Versions() {
				reported = append(reported, fmt.Sprintf("%s %s %s %s", v.Type, v.Object.GetName(), v.Object.GetUID(), v.Object.GetResourceVersion()))
			}
			if diff := cmp.Diff([]any{test.asked, test.reported, test.gaps}, []any{s.asked, reported, len(l.Gaps())}); diff != "" {
				t.Errorf("asked, told and gaps (-want +got):\n%s", diff)
			}
		})
	}
}
