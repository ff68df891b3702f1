package cache

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"stoic/controller/watch"
	"stoic/convert"
	"stoic/schema"
)

// TestClaims: children and objects without controller are known with their labels and owners if owners claim by label, as cached and as
// read from the API server. Otherwise none of that is kept.
func TestClaims(t *testing.T) {
	claims := func(*convert.Result) labels.Selector { return labels.Everything() }
	for name, o := range map[string]*watch.Owned{
		"typed":   {Resource: schema.Pods(), SlimTyped: slimName, Claims: claims},
		"untyped": {Resource: schema.Pods(), Claims: claims},
		"without": {Resource: schema.Pods()},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			owner := headOf(widgets(), "ns", "a")
			s.put(podsPath+"child", ownedBy(owner, map[string]any{"app": "x"}))
			s.put(podsPath+"orphan", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "y"}}})
			s.put(podsPath+"odd", map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{"kind": "K", "name": "n", "uid": "u", "apiVersion": "v1"}}}})
			s.put(podsPath+"deleting", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"}}})
			s.put("/api/v1/namespaces/elsewhere/pods/far", map[string]any{})
			s.put(podsPath+"foreign", ownedBy(headOf(widgets(), "ns", "other"), nil))
			d := newTestDependents(t, s, "", o, nil)
			background(t, d.Serve)
			eventually(t, "the children", d.Known)
			read, _, err := d.Read(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range []schema.Children{d.Of(owner), read} {
				var got []string
				for _, c := range found.Items {
					got = append(got, "item "+c.Name)
				}
				for _, c := range found.Unclaimed {
					got = append(got, "child "+c.Name+" "+c.Labels.String())
				}
				for _, c := range found.Orphans {
					text := "orphan " + c.Name + " " + c.Labels.String()
					for _, o := range c.Owners {
						text += o.Name
					}
					got = append(got, text)
				}
				slices.Sort(got)
				want := "child child app=x, orphan odd n, orphan orphan app=y"
				if o.Claims == nil {
					want = "item child"
				}
				if strings.Join(got, ", ") != want {
					t.Errorf("%q, want %q", strings.Join(got, ", "), want)
				}
			}
			everywhere := 0
			d.EachOrphan("", func(schema.Candidate) { everywhere++ })
			informer := d.informer.Load()
			_, indexed := (*informer).GetIndexer().GetIndexers()[byOrphan]
			if (everywhere == 3) != (o.Claims != nil) || indexed != (o.Claims != nil) {
				t.Errorf("%d orphans in all namespaces, indexed: %v", everywhere, indexed)
			}
		})
	}
}

// TestClaim: if an owner claims nothing, its children stay as they are.
func TestClaim(t *testing.T) {
	of := func(name, app string) schema.Candidate {
		return schema.Candidate{Child: schema.Child{Name: name}, Labels: schema.LabelsOf(map[string]string{"app": app})}
	}
	for _, c := range []struct {
		name     string
		selector labels.Selector
		want     string
	}{
		{"none", nil, "children a,b orphans  unclaimed "},
		{"nothing", labels.Nothing(), "children  orphans  unclaimed a,b"},
		{"some", labels.SelectorFromSet(labels.Set{"app": "x"}), "children a orphans c unclaimed b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := schema.Children{Unclaimed: []schema.Candidate{of("a", "x"), of("b", "y")}, Orphans: []schema.Candidate{of("c", "x"), of("d", "y"), of("contested", "x")}}
			Claim(&found, c.selector, func(o schema.Candidate) bool { return o.Name == "contested" })
			list := func(all []schema.Candidate) (names []string) {
				for _, o := range all {
					names = append(names, o.Name)
				}
				return names
			}
			if got := "children " + strings.Join(names(found.Items), ",") + " orphans " + strings.Join(list(found.Orphans), ",") + " unclaimed " + strings.Join(list(found.Unclaimed), ","); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
