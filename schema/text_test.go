package schema

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "..."}, {"abcde", 4, "a..."}, {"abcd", 2, ".."}, {"abcd", 0, ""}, {"abcd", -1, ""},
		{"ä€😀x", 9, "ä€..."}, {"ä€😀x", 8, "ä€..."}, {"ä€😀x", 7, "ä..."}, {"ä€😀x", 4, "..."}, {"ä€😀x", 10, "ä€😀x"},
	} {
		if got := Cut(test.s, test.limit); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.s, test.limit, got, test.want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"two\nlines\r\n\ttab":      "two lines   tab",
		"\x1b[31mred\x00\x7f":      " [31mred  ",
		"\u0085\u2028\u2029":       "   ",
		"a\u202eb\u2066c\u061cd":   "a b c d",
		"\u200e\u200f\u202a\u2069": "    ",
		"bad \xff\xfe utf8":        "bad \uFFFD utf8",
		"äöü 漢字 😀":                 "äöü 漢字 😀",
	} {
		if got := Clean(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Clean(strings.Repeat("x", 1<<20), 10); got != "xxxxxxx..." {
		t.Errorf("a megabyte: %q", got)
	}
}

func TestCleanIsClean(t *testing.T) {
	anything := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}))
	rapid.Check(t, func(t *rapid.T) {
		s, limit := anything.Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "limit")
		got := Clean(s, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%q: %d bytes", got, len(got))
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if again := Clean(got, limit); again != got {
			t.Fatalf("cleaned again: %q, %q", got, again)
		}
		if q := Quote(s); len(q) > 2*quoteLimit+2 || !utf8.ValidString(q) || strings.Count(strings.ReplaceAll(strings.ReplaceAll(q, `\\`, ""), `\"`, ""), `"`) != 2 {
			t.Fatalf("quoted: %s", q)
		}
	})
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		``:                      `""`,
		`4`:                     `"4"`,
		`a"b\c`:                 `"a\"b\\c"`,
		"a\nb":                  `"a b"`,
		strings.Repeat("y", 61): `"` + strings.Repeat("y", 57) + `..."`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCompactJSON(t *testing.T) {
	if got := string(JSON(map[string][]string{"b": {"<&>"}, "a": {}})); got != `{"a":[],"b":["<&>"]}` {
		t.Error(got)
	}
	if got := string(JSON(make(chan int))); got != "null" {
		t.Error(got)
	}
}

// TestShortName: a name that fits stays the same. Other names stay different and valid.
func TestShortName(t *testing.T) {
	long := strings.Repeat("a", 48)
	seen := map[string]string{}
	for _, name := range []string{"a", long, long + "a", long + "b", strings.Repeat("a", 253), strings.Repeat("a", 36) + "." + long, strings.Repeat("a", 36) + "-" + long, strings.Repeat("a.", 100) + "a", strings.Repeat("-.", 30)} {
		got := ShortName(name, 48)
		if len(got) > 48 || len(name) <= 48 && got != name || seen[got] != "" || len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Errorf("%s of %d bytes is %s, as is %s", name, len(name), got, seen[got])
		}
		seen[got] = name
	}
	if got := ShortName("averylongname", 12); got != "a-"+Hash("averylongname") {
		t.Errorf("at most 12: %s", got)
	}
	for _, name := range []string{"a", "averylongname"} { // also of a name that fits, so that a test notices
		func() {
			defer func() {
				if said := recover(); said != "schema: ShortName of at most 11 bytes, where 12 is the least" {
					t.Errorf("%s: %v", name, said)
				}
			}()
			t.Error(ShortName(name, 11))
		}()
	}
}

// TestHash: the same value has the same hash in every process, and a different value has another.
func TestHash(t *testing.T) {
	type spec struct {
		Image string `json:"image"`
	}
	if got := Hash(spec{"a:1"}); got != "028ac6ea25" {
		t.Errorf("found %s", got)
	}
	if Hash(spec{"a:1"}) == Hash(spec{"a:2"}) {
		t.Error("two values have one hash")
	}
}

// upper encodes itself in its own form, and has an unexported field that is not in the JSON.
type upper struct {
	Word   string
	hidden int
}

func (u upper) MarshalJSON() ([]byte, error) { return json.Marshal("U:" + u.Word) }

// cyclic can point to itself.
type cyclic struct{ Next *cyclic }

// sameJSON returns pairs with the same JSON value, and pairs without.
func sameJSON() map[string]struct {
	a, b any
	want bool
} {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	later, zoned := at.Add(time.Nanosecond), at.In(time.FixedZone("", 3600))
	one, two, loop := 1, 1, &cyclic{}
	loop.Next = loop
	type optional struct {
		A *int `json:"a,omitempty"`
		B []int
	}
	return map[string]struct {
		a, b any
		want bool
	}{
		"nothing":                            {nil, nil, true},
		"nothing and a nil pointer":          {nil, (*upper)(nil), true},
		"time.Time":                          {at, at, true},
		"time.Time, a nanosecond later":      {at, later, false},
		"time.Time in another zone":          {at, zoned, false},
		"metav1.Time, a nanosecond later":    {metav1.NewTime(at), metav1.NewTime(later), true},
		"netip.Addr":                         {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.1"), true},
		"a *big.Int that was larger":         {big.NewInt(7), new(big.Int).Rsh(big.NewInt(7<<60), 60), true},
		"a MarshalJSON of its own":           {upper{"a", 1}, upper{"a", 2}, true},
		"unexported fields":                  {struct{ a int }{1}, struct{ a int }{2}, true},
		"quantities":                         {resource.MustParse("1024Mi"), resource.MustParse("1Gi"), true},
		"an any of int and of int64":         {map[string]any{"x": 1}, map[string]any{"x": int64(1)}, true},
		"an any of int and of json.Number":   {[]any{100}, []any{json.Number("1e2")}, true},
		"an any of a number and of a text":   {[]any{1}, []any{"1"}, false},
		"an any of []string and of []any":    {map[string]any{"x": []string{"a"}}, map[string]any{"x": []any{"a"}}, true},
		"lists in another order":             {[]string{"a", "b"}, []string{"b", "a"}, false},
		"a nil list and an empty one":        {map[string][]string{"x": nil}, map[string][]string{"x": {}}, false},
		"null and absent":                    {map[string][]string{"x": nil}, map[string][]string{}, false},
		"omitempty":                          {optional{}, map[string]any{"B": nil}, true},
		"pointers":                           {[]*int{&one}, []*int{&two}, true},
		"a struct and a map":                 {corev1.LocalObjectReference{Name: "a"}, map[string]any{"name": "a"}, true},
		"runtime.RawExtension":               {runtime.RawExtension{Raw: []byte(`{"a":1,"b":2}`)}, runtime.RawExtension{Raw: []byte(`{ "b": 2.0, "a": 1 }`)}, true},
		"json.RawMessage with other spacing": {json.RawMessage(`[1, {"a":"<"}]`), json.RawMessage("[1,{\n\"a\":\"\\u003c\"}]"), true},
		"json.RawMessage that is no JSON":    {json.RawMessage(`{`), json.RawMessage(`{`), false},
		"uint64 above MaxInt64":              {uint64(math.MaxUint64), uint64(math.MaxUint64), true},
		"int64 beyond what a float64 keeps":  {int64(1<<53 + 1), int64(1 << 53), false},
		"zeros":                              {[]any{0}, []any{math.Copysign(0, -1)}, true},
		"a float with all its digits":        {json.RawMessage("0.1000000000000000055511151231257827"), 0.1, true},
		"numbers too large for a float64":    {json.RawMessage("1e999"), json.RawMessage("2e999"), false},
		"bytes that are no UTF-8":            {"\xff", "\uFFFD", true},
		"NaN":                                {math.NaN(), math.NaN(), false},
		"a channel":                          {make(chan int), make(chan int), false},
		"what holds itself":                  {loop, loop, false},
	}
}

func TestSameJSON(t *testing.T) {
	for name, test := range sameJSON() {
		if SameJSON(test.a, test.b) != test.want || SameJSON(test.b, test.a) != test.want {
			t.Errorf("%s: %#v and %#v: got %t", name, test.a, test.b, !test.want)
		}
	}
}

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
