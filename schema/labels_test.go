package schema

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

var _ labels.Labels = Labels{}

// TestLabels: Labels hold what the map holds, and any selector matches both or neither.
func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, value := rapid.SampledFrom([]string{"app", "tier", "x.org/a", ""}), rapid.SampledFrom([]string{"", "a", "b"})
		set := rapid.MapOf(name, value).Draw(t, "set")
		l := LabelsOf(set)
		back := map[string]string{}
		for i, label := range l {
			if back[label.Name()] = label.Value; i > 0 && l[i-1].Name() >= label.Name() {
				t.Errorf("%q stands before %q", l[i-1].Name(), label.Name())
			}
		}
		if len(l) != len(set) || !maps.Equal(back, set) {
			t.Errorf("%v of %v", l, set)
		}
		if l.String() != labels.Set(set).String() {
			t.Errorf("%s, want %s", l, labels.Set(set))
		}
		other := rapid.MapOf(name, value).Draw(t, "other")
		if got, want := l.Equal(LabelsOf(other)), maps.Equal(set, other); got != want {
			t.Errorf("%v and %v are equal: %v, want %v", set, other, got, want)
		}
		asked := name.Draw(t, "asked")
		want, exists := set[asked]
		if got, has := l.Lookup(asked); got != want || has != exists || l.Get(asked) != want || l.Has(asked) != exists {
			t.Errorf("%q is %q (%v), want %q (%v)", asked, got, has, want, exists)
		}
		text := rapid.SampledFrom([]string{"app", "!app", "app=a", "app!=a", "app in (a,b)", "tier notin (a)", "x.org/a=", "app=a,tier=b"}).Draw(t, "selector")
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := selector.Matches(l), selector.Matches(labels.Set(set)); got != want {
			t.Errorf("%s matches %v: %v, want %v", text, set, got, want)
		}
	})
}
