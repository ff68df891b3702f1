package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

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
