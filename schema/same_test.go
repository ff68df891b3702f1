package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
		"nothing":                              {nil, nil, true},
		"nothing and a nil pointer":            {nil, (*upper)(nil), true},
		"nothing and an object":                {nil, struct{}{}, false},
		"time.Time":                            {at, at, true},
		"time.Time, a nanosecond later":        {at, later, false},
		"time.Time in another zone":            {at, zoned, false},
		"*time.Time":                           {&at, &[]time.Time{at}[0], true},
		"*time.Time and time.Time":             {&at, at, true},
		"metav1.Time, a nanosecond later":      {metav1.NewTime(at), metav1.NewTime(later), true},
		"metav1.Time, a second later":          {metav1.NewTime(at), metav1.NewTime(at.Add(time.Second)), false},
		"metav1.Time in another zone":          {metav1.NewTime(at), metav1.NewTime(zoned), true},
		"netip.Addr":                           {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.1"), true},
		"another netip.Addr":                   {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), false},
		"*big.Int":                             {big.NewInt(7), big.NewInt(7), true},
		"another *big.Int":                     {big.NewInt(7), big.NewInt(8), false},
		"a *big.Int that was larger":           {big.NewInt(7), new(big.Int).Rsh(big.NewInt(7<<60), 60), true},
		"a MarshalJSON of its own":             {upper{"a", 1}, upper{"a", 2}, true},
		"a MarshalJSON of its own, other word": {upper{"a", 1}, upper{"b", 1}, false},
		"unexported fields":                    {struct{ a int }{1}, struct{ a int }{2}, true},
		"quantities":                           {resource.MustParse("1024Mi"), resource.MustParse("1Gi"), true},
		"an any of int and of int64":           {map[string]any{"x": 1}, map[string]any{"x": int64(1)}, true},
		"an any of int and of float64":         {[]any{1}, []any{1.0}, true},
		"an any of int and of half":            {[]any{1}, []any{1.5}, false},
		"an any of int and of json.Number":     {[]any{100}, []any{json.Number("1e2")}, true},
		"an any of a number and of a text":     {[]any{1}, []any{"1"}, false},
		"an any of []string and of []any":      {map[string]any{"x": []string{"a"}}, map[string]any{"x": []any{"a"}}, true},
		"lists in another order":               {[]string{"a", "b"}, []string{"b", "a"}, false},
		"lists of other lengths":               {[]string{"a"}, []string{"a", "b"}, false},
		"a nil list and an empty one":          {map[string][]string{"x": nil}, map[string][]string{"x": {}}, false},
		"nil lists":                            {map[string][]string{"x": nil}, map[string][]string{"x": nil}, true},
		"null and absent":                      {map[string][]string{"x": nil}, map[string][]string{}, false},
		"null under another name":              {map[string]any{"x": nil}, map[string]any{"y": nil}, false},
		"omitempty":                            {optional{}, map[string]any{"B": nil}, true},
		"nil pointers":                         {[]*int{nil}, []*int{nil}, true},
		"pointers":                             {[]*int{&one}, []*int{&two}, true},
		"a nil pointer and another":            {[]*int{nil}, []*int{&one}, false},
		"a struct and a map":                   {corev1.LocalObjectReference{Name: "a"}, map[string]any{"name": "a"}, true},
		"runtime.RawExtension":                 {runtime.RawExtension{Raw: []byte(`{"a":1,"b":2}`)}, runtime.RawExtension{Raw: []byte(`{ "b": 2.0, "a": 1 }`)}, true},
		"another runtime.RawExtension":         {runtime.RawExtension{Raw: []byte(`{"a":1}`)}, runtime.RawExtension{Raw: []byte(`{"a":2}`)}, false},
		"json.RawMessage with other spacing":   {json.RawMessage(`[1, {"a":"<"}]`), json.RawMessage("[1,{\n\"a\":\"\\u003c\"}]"), true},
		"json.RawMessage in another order":     {json.RawMessage(`{"a":1,"b":[]}`), json.RawMessage(`{"b":[],"a":1}`), true},
		"json.RawMessage that is no JSON":      {json.RawMessage(`{`), json.RawMessage(`{`), false},
		"uint64 above MaxInt64":                {uint64(math.MaxUint64), uint64(math.MaxUint64), true},
		"one less above MaxInt64":              {uint64(math.MaxUint64), uint64(math.MaxUint64 - 1), false},
		"int64 beyond what a float64 keeps":    {int64(1<<53 + 1), int64(1 << 53), false},
		"zeros":                                {[]any{0}, []any{math.Copysign(0, -1)}, true},
		"large floats":                         {json.RawMessage("1e30"), 1e30, true},
		"a float with all its digits":          {json.RawMessage("0.1000000000000000055511151231257827"), 0.1, true},
		"numbers too large for a float64":      {json.RawMessage("1e999"), json.RawMessage("2e999"), false},
		"bytes that are no UTF-8":              {"\xff", "\uFFFD", true},
		"NaN":                                  {math.NaN(), math.NaN(), false},
		"NaN and null":                         {math.NaN(), nil, false},
		"a channel":                            {make(chan int), make(chan int), false},
		"what holds itself":                    {loop, loop, false},
	}
}

func TestSameJSON(t *testing.T) {
	for name, test := range sameJSON() {
		if SameJSON(test.a, test.b) != test.want || SameJSON(test.b, test.a) != test.want {
			t.Errorf("%s: %#v and %#v: got %t", name, test.a, test.b, !test.want)
		}
	}
}
