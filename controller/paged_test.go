package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/lean"
)

// manyPods answers a list of so many pods, each of so many bytes, in pages; asked is called before each.
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

func TestPaged(t *testing.T) {
	const number = 3*pageSize + 1
	var asked []metav1.ListOptions
	o := metav1.ListOptions{LabelSelector: "a=b", ResourceVersion: "3", ResourceVersionMatch: "NotOlderThan", Limit: 500, AllowWatchBookmarks: true}
	found, err := paged(t.Context(), o, func(err error) { t.Log(err) }, manyPods(number, 1, func(o metav1.ListOptions) error { asked = append(asked, o); return nil }), slimming(slimPod))
	if err != nil {
		t.Fatal(err)
	}
	items, err := meta.ExtractListWithAlloc(found) // as a reflector does
	if err != nil || len(items) != number {
		t.Fatalf("%d objects, %v, want %d", len(items), err, number)
	}
	for i, item := range items {
		c, err := unpacked(slimming(slimPod))(item)
		if pod, ok := c.(*child); err != nil || !ok || pod.Name != fmt.Sprint("pod-", i) || pod.owner().uid != "j" || pod.ResourceVersion != "5" {
			t.Fatalf("object %d is %+v, %v", i, c, err)
		}
		if key, err := meta.Accessor(item); err != nil || key.GetName() != fmt.Sprint("pod-", i) {
			t.Fatalf("object %d has no name on its way: %v", i, err)
		}
	}
	if l, err := meta.ListAccessor(found); err != nil || l.GetResourceVersion() != "7" || l.GetContinue() != "" {
		t.Errorf("the list is %+v, %v: a reflector would not go on from where it stands, or ask for more", l, err)
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

// TestPagedFails: what was forgotten meanwhile is told, so that the reflector begins anew; nothing is half a list.
func TestPagedFails(t *testing.T) {
	pages := 0
	expired := apierrors.NewResourceExpired("too old")
	found, err := paged(t.Context(), metav1.ListOptions{}, func(error) {}, manyPods(2*pageSize, 1, func(metav1.ListOptions) error {
		if pages++; pages == 2 {
			return expired
		}
		return nil
	}), slimming(slimPod))
	if found != nil || !apierrors.IsResourceExpired(err) {
		t.Errorf("%v, %v", found, err)
	}
	for name, bad := range map[string]func(any) (any, error){
		"refuses":            func(any) (any, error) { return nil, errors.New("no") },
		"loses the metadata": func(any) (any, error) { return 7, nil },
	} {
		if found, err := paged(t.Context(), metav1.ListOptions{}, func(error) {}, manyPods(1, 1, func(metav1.ListOptions) error { return nil }), bad); found != nil || err == nil {
			t.Errorf("a transform that %s: %v, %v", name, found, err)
		}
	}
}

// TestPagedPeak: of 2,000 pods of 50 KB, which are 100 MB as they come, no more than two pages are there at once.
func TestPagedPeak(t *testing.T) {
	const number, size = 10 * pageSize, 50 << 10
	peak := uint64(0)
	look := func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	look()
	before, cut := peak, 0
	found, err := paged(t.Context(), metav1.ListOptions{}, func(error) {}, manyPods(number, size, func(metav1.ListOptions) error { return nil }),
		func(obj any) (any, error) {
			if cut++; cut%pageSize == 0 {
				look() // while a page and all that is cut down is there
			}
			return slimming(slimPod)(obj)
		})
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(found)
	held, most := (peak-before)>>10, uint64(2*pageSize*size+number*1024)>>10
	t.Logf("%d KB in memory at most, of %d KB that came", held, number*size>>10)
	if held > most {
		t.Errorf("%d KB, want at most %d", held, most)
	}
}

// TestPagedUntyped: the lists of the untyped client are taken apart, too.
func TestPagedUntyped(t *testing.T) {
	u := func(i int) unstructured.Unstructured {
		return unstructured.Unstructured{Object: job(fmt.Sprint("j", i), 1, `{}`)}
	}
	pages := 0
	found, err := paged(t.Context(), metav1.ListOptions{}, func(error) {}, func(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		pages++
		page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{u(pages)}}
		if pages < 3 {
			page.SetContinue("more")
		}
		return page, nil
	}, func(obj any) (any, error) {
		return &child{identity: identity{Name: obj.(*unstructured.Unstructured).GetName()}}, nil
	})
	if err != nil || meta.LenList(found) != 3 {
		t.Fatalf("%d of 3 objects: %v", meta.LenList(found), err)
	}
}
