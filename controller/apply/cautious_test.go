package apply

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// TestRefusalOfAWholeNamespace: a small new object has all its children in one round trip. If its namespace, or a quota of it, refuses
// them all, that costs up to maxConcurrent requests, once per namespace and not per object. After a creation that succeeded, or after
// enough time, it is one round trip again.
func TestRefusalOfAWholeNamespace(t *testing.T) {
	quota, going := statusOf(http.StatusForbidden), terminatingStatus("ns")
	for name, answer := range map[string]*metav1.Status{"a quota": quota, "its deletion": &going} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			now, refused := time.Unix(1000, 0), true
			a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
			s.failing(func(request string) *metav1.Status {
				if strings.HasPrefix(request, "POST pods") && refused {
					return answer
				}
				return nil
			})
			create := func(namespace, name string) int {
				head := &schema.Head{Resource: widgets(), Meta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
				var pods []schema.Object
				for i := range 10 {
					pod := strings.ReplaceAll(fmt.Sprint(name, "-", i), " ", "-")
					pods = append(pods, schema.Object{Resource: schema.Pods(), Namespace: namespace, Name: pod, Body: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, pod)})
				}
				if _, err := a.create(t.Context(), &schema.Observed{Head: head}, pods); (err != nil) != refused {
					t.Errorf("%s: %v", name, err)
				}
				return s.posts()
			}
			for _, step := range []struct {
				what, namespace string
				wait            time.Duration
				refused         bool
				posts           int
			}{
				{"the first object", "ns", 0, true, 10},
				{"the next one", "ns", 0, true, 1},
				{"and one more", "ns", time.Minute, true, 1},
				{"in another namespace", "other", 0, true, 10},
				{"while the last refusal is remembered", "ns", LastRefused - time.Second, true, 1},
				{"after a long time without any", "ns", LastRefused + time.Second, true, 10},
				{"it is let through", "ns", 0, false, 10},
				{"as if nothing had been", "ns", 0, true, 10},
			} {
				now, refused = now.Add(step.wait), step.refused
				if posts := create(step.namespace, step.what); posts != step.posts {
					t.Errorf("%s: %d creations were asked for, want %d", step.what, posts, step.posts)
				}
			}
			if refused = true; len(a.cautious.until) > 2 {
				t.Errorf("kept: %v", a.cautious.until)
			}
			now = now.Add(LastRefused + time.Second)
			if create("third", "a"); len(a.cautious.until) != 1 {
				t.Errorf("kept of what is long over: %v", a.cautious.until)
			}
		})
	}
}
