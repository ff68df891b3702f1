package cache

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"stoic/controller/lean"
	"stoic/controller/watch"
)

// manyPods answers lists of so many pods, each of so many bytes, in pages; asked is called before each page.
func manyPods(number, size int, asked func(metav1.ListOptions) error) func(context.Context, metav1.ListOptions) (*lean.List, error) {
	return func(_ context.Context, o metav1.ListOptions) (*lean.List, error) {
		if err := asked(o); err != nil {
			return nil, err
		}
		first := 0
		if o.Continue != "" {
			first, _ = strconv.Atoi(o.Continue)
		}
		end := number
		if o.Limit > 0 {
			end = min(number, first+int(o.Limit))
		}
		page := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		if end < number {
			page.Continue = strconv.Itoa(end)
		}
		for i := first; i < end; i++ {
			yes := true
			page.Items = append(page.Items, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: "ns", UID: types.UID(fmt.Sprint(i)), ResourceVersion: "5",
					OwnerReferences: []metav1.OwnerReference{{UID: "j", Kind: "TFJob", APIVersion: "kubeflow.org/v1", Name: "j", Controller: &yes}}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{strings.Repeat("x", size)}}}}})
		}
		data, err := page.Marshal()
		if err != nil {
			return nil, err
		}
		read := &lean.List{}
		return read, read.Unmarshal(data)
	}
}

// collected returns a list as a typed reader makes it.
func collected(ctx context.Context, o metav1.ListOptions, next func(context.Context, metav1.ListOptions) (*lean.List, error), cut func(*lean.Object) (*child, error)) (*internalversion.List, error) {
	all := &internalversion.List{}
	version, err := eachPaged(ctx, o, func(error) {}, next, func(item runtime.Object) error {
		c, err := cut(item.(*lean.Object))
		all.Items = append(all.Items, carrier{c})
		return err
	})
	all.ResourceVersion = version
	return all, err
}

func cutPod(o *lean.Object) (*child, error) { return slimTyped(o), nil }

func TestEachPaged(t *testing.T) {
	const number = 3*pageSize + 1
	var asked []metav1.ListOptions
	o := metav1.ListOptions{LabelSelector: "a=b", ResourceVersion: "3", ResourceVersionMatch: "NotOlderThan", Limit: 500, AllowWatchBookmarks: true}
	found, err := collected(t.Context(), o, manyPods(number, 1, func(o metav1.ListOptions) error { asked = append(asked, o); return nil }), cutPod)
	if err != nil {
		t.Fatal(err)
	}
	items, err := meta.ExtractListWithAlloc(found) // as a reflector does
	if err != nil || len(items) != number {
		t.Fatalf("%d objects, %v, want %d", len(items), err, number)
	}
	transform := unpacked((&typedReader{Dependents: &Dependents{Owned: &watch.Owned{SlimTyped: slimName}}}).slim)
	for i, item := range items {
		c, err := transform(item)
		if pod, ok := c.(*child); err != nil || !ok || pod.Name != fmt.Sprint("pod-", i) || pod.owner().UID != "j" || pod.ResourceVersion != "5" {
			t.Fatalf("object %d is %+v, %v", i, c, err)
		}
		if key, err := meta.Accessor(item); err != nil || key.GetName() != fmt.Sprint("pod-", i) {
			t.Fatalf("object %d has no name on its way: %v", i, err)
		}
	}
	if l, err := meta.ListAccessor(found); err != nil || l.GetResourceVersion() != "7" || l.GetContinue() != "" {
		t.Errorf("the list is %+v, %v: a reflector would not resume from where it ends, or ask for more", l, err)
	}
	if len(asked) != 4 || asked[0].ResourceVersion != "3" || asked[1].ResourceVersion != "" || asked[1].ResourceVersionMatch != "" || asked[3].Continue != strconv.Itoa(3*pageSize) {
		t.Errorf("asked %+v", asked)
	}
	for _, o := range asked {
		if o.Limit != pageSize || o.LabelSelector != "a=b" {
			t.Errorf("asked %+v", o)
		}
	}
}

// TestEachPagedFails: a version that is compacted meanwhile is an error, so that the reflector begins again; no partial list is returned.
func TestEachPagedFails(t *testing.T) {
	pages := 0
	expired := apierrors.NewResourceExpired("too old")
	version, err := eachPaged(t.Context(), metav1.ListOptions{}, func(error) {}, manyPods(2*pageSize, 1, func(metav1.ListOptions) error {
		if pages++; pages == 2 {
			return expired
		}
		return nil
	}), func(runtime.Object) error { return nil })
	if version != "" || !apierrors.IsResourceExpired(err) {
		t.Errorf("%q, %v", version, err)
	}
	no := errors.New("no")
	version, err = eachPaged(t.Context(), metav1.ListOptions{}, func(error) {}, manyPods(1, 1, func(metav1.ListOptions) error { return nil }),
		func(runtime.Object) error { return no })
	if version != "" || !errors.Is(err, no) {
		t.Errorf("an object that is refused: %q, %v", version, err)
	}
}

// TestEachPagedPeak: 2,000 pods of 50 KB are 100 MB as received; no more than two pages of them are in memory at the same time.
func TestEachPagedPeak(t *testing.T) {
	const number, size = 10 * pageSize, 50 << 10
	peak := uint64(0)
	look := func() {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	look()
	before, cut := peak, 0
	found, err := collected(t.Context(), metav1.ListOptions{}, manyPods(number, size, func(metav1.ListOptions) error { return nil }),
		func(o *lean.Object) (*child, error) {
			if cut++; cut%pageSize == 0 {
				look() // while a page and all that was cut down is in memory
			}
			return cutPod(o)
		})
	if err != nil {
		t.Fatal(err)
	}
	goruntime.KeepAlive(found)
	held, most := (peak-before)>>10, uint64(2*pageSize*size+number*1024)>>10
	t.Logf("%d KB in memory at most, of %d KB that came", held, number*size>>10)
	if held > most {
		t.Errorf("%d KB, want at most %d", held, most)
	}
}

// pagedResource is a dynamic client of one resource that answers prepared pages.
type pagedResource struct {
	dynamic.NamespaceableResourceInterface
	pages []*unstructured.UnstructuredList
	asked []metav1.ListOptions
}

func (p *pagedResource) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	p.asked = append(p.asked, o)
	return p.pages[len(p.asked)-1], nil
}

func pagesOf(names ...string) *pagedResource {
	p := &pagedResource{}
	for i, name := range names {
		page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "u-" + name, "resourceVersion": fmt.Sprint(i)}, "spec": map[string]any{"large": "x"}}}}}
		page.SetResourceVersion("9")
		if i < len(names)-1 {
			page.SetContinue("more")
		}
		p.pages = append(p.pages, page)
	}
	return p
}

// TestListOfCarriers: the untyped client also lists page by page. Each object is reduced before the next page is requested, and leaves
// the list and the transform as it was reduced.
func TestListOfCarriers(t *testing.T) {
	p := pagesOf("a", "b", "c")
	var cut []*child
	slim := func(obj any) (any, error) {
		if len(cut) != len(p.asked)-1 {
			t.Errorf("%d objects are cut down after %d pages", len(cut), len(p.asked))
		}
		cut = append(cut, slimUntyped(obj.(*unstructured.Unstructured), ""))
		return cut[len(cut)-1], nil
	}
	r := &listWatchResource{reads: p, client: &listWatchClient{report: func(err error) { t.Error(err) }, slim: slim}}
	found, err := r.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", LabelSelector: "a=b"})
	if err != nil || meta.LenList(found) != 3 || found.GetResourceVersion() != "9" || found.GetContinue() != "" {
		t.Fatalf("%+v: %v", found, err)
	}
	items, err := meta.ExtractListWithAlloc(found)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		m, err := meta.Accessor(item)
		if err != nil || m.GetName() != cut[i].Name || m.GetNamespace() != "ns" || m.GetUID() != cut[i].UID || m.GetResourceVersion() != cut[i].ResourceVersion {
			t.Errorf("object %d has no identity on its way: %+v, %v", i, item, err)
		}
		if got, err := unpacked(slim)(item); err != nil || got != any(cut[i]) {
			t.Errorf("object %d comes out as %+v, %v", i, got, err)
		}
	}
	for _, o := range p.asked {
		if o.ResourceVersion != "" || o.Limit != pageSize || o.LabelSelector != "a=b" {
			t.Errorf("asked %+v: of the past, for all at once, or for others", o)
		}
	}
}

// TestListOfCarriersFails: a transform that fails is an error of the list, and does not leave a list with a gap.
func TestListOfCarriersFails(t *testing.T) {
	for name, bad := range map[string]func(any) (any, error){
		"refuses":            func(any) (any, error) { return nil, errors.New("no") },
		"loses the metadata": func(any) (any, error) { return 7, nil },
	} {
		r := &listWatchResource{reads: pagesOf("a"), client: &listWatchClient{report: func(error) {}, slim: bad}}
		if found, err := r.List(t.Context(), metav1.ListOptions{}); found != nil || err == nil {
			t.Errorf("a transform that %s: %v, %v", name, found, err)
		}
	}
}
