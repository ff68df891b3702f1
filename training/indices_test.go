package training

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseIndices(t *testing.T) {
	for text, want := range map[string]Indices{
		"":                                     nil,
		"0":                                    {{0, 0}},
		"0-3,7":                                {{0, 3}, {7, 7}},
		"7,0-3":                                {{0, 3}, {7, 7}},
		"0-3,2-9,10":                           {{0, 10}},
		"3,3,3":                                {{3, 3}},
		"x,1,-1,2-,-,5-4, 6,0x1,1e2":           {{1, 1}},
		"19998-99999999":                       {{19998, 19999}},
		"20000,99999999999999999999":           nil,
		"0-99999999999999999999":               nil,
		"bitmap:":                              nil,
		"bitmap:jw":                            {{0, 3}, {7, 7}},
		"bitmap:jw==":                          nil,
		"bitmap:?":                             nil,
		"bitmap:" + strings.Repeat("_", 1<<20): nil,
		"bitmap:" + strings.Repeat("/", 1<<20): nil,
		"bitmap:" + strings.Repeat("/", 3334)[:3]: {{0, 15}},
	} {
		if diff := cmp.Diff(want, ParseIndices(text)); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", text, diff)
		}
	}
}

// A set is read back as it was written, in both forms, and its text is short.
func TestIndices(t *testing.T) {
	index := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, MaxReplicas-1))
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOf(index).Draw(t, "indices")
		slices.Sort(drawn)
		drawn = slices.Compact(drawn)
		var s Indices
		for _, i := range drawn {
			s = s.Append(i)
		}
		if s.Count() != len(drawn) {
			t.Fatalf("%d of %d", s.Count(), len(drawn))
		}
		for _, i := range append(drawn, index.Draw(t, "another"), -1, MaxReplicas) {
			if s.Has(i) != slices.Contains(drawn, i) {
				t.Fatalf("%v has %d: %v", s, i, s.Has(i))
			}
		}
		if diff := cmp.Diff(s, ParseIndices(s.String())); diff != "" {
			t.Fatalf("%s (-written +read):\n%s", s, diff)
		}
		if len(drawn) > 0 {
			if diff := cmp.Diff(s, ParseIndices(s.bitmap())); diff != "" {
				t.Fatalf("%s (-written +read):\n%s", s.bitmap(), diff)
			}
		}
	})
}

func TestIndicesAreBounded(t *testing.T) {
	var all, odd, few Indices
	for i := range MaxReplicas {
		all = all.Append(i)
		if i%2 == 1 {
			odd = odd.Append(i)
		}
		if i%100 == 0 {
			few = few.Append(i)
		}
	}
	for text, most := range map[string]int{all.String(): len("0-19999"), odd.String(): 3400, few.String(): 1200} {
		if len(text) > most {
			t.Errorf("%d bytes, want at most %d: %.60s", len(text), most, text)
		}
	}
	if !strings.HasPrefix(odd.String(), bitmapMark) || strings.HasPrefix(few.String(), bitmapMark) {
		t.Errorf("%.20s, %.20s", odd, few)
	}
	if diff := cmp.Diff(odd, ParseIndices(odd.String())); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func FuzzParseIndices(f *testing.F) {
	f.Add("0-3,7")
	f.Add("bitmap:jw")
	f.Fuzz(func(t *testing.T, text string) {
		s := ParseIndices(text)
		for i, r := range s {
			if r.First < 0 || r.First > r.Last || r.Last >= MaxReplicas || i > 0 && s[i-1].Last+1 >= r.First {
				t.Fatalf("%q is read as %v", text, s)
			}
		}
		if diff := cmp.Diff(s, ParseIndices(s.String())); diff != "" {
			t.Fatalf("%q (-written +read):\n%s", s, diff)
		}
	})
}
