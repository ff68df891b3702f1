package convert

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeys: a map with keys of any type is read, with the constraints of its values. A key that does not fit is a problem.
func TestKeys(t *testing.T) {
	type value struct {
		Size int `json:"size,omitempty" stoic:"max=5"`
	}
	type spec struct {
		Whole   map[int8]value       `json:"whole,omitempty" stoic:"maxItems=2"`
		Natural map[uint16]string    `json:"natural,omitempty"`
		IPs     map[netip.Addr]value `json:"ips,omitempty"`
		Named   map[Word]value       `json:"named,omitempty"`
		Hidden  map[netip.Addr]int   `json:"hidden,omitempty"`
	}
	read := Typed[specOf[spec]](gadgets(), Hide[spec]("hidden"))
	for text, want := range map[string][]string{
		`{"whole":{"-1":{"size":5}},"natural":{"1":"a"},"ips":{"10.0.0.1":{}},"named":{"a":{}}}`: nil,
		`{"whole":{"1":{"size":6}}}`:       {`spec.whole["1"].size: found number 6, must be less than or equal to 5`},
		`{"whole":{"1":{"sise":6}}}`:       {"warning: spec.whole[\"1\"].sise: unknown field; did you mean `size`?"},
		`{"whole":{"1":null}}`:             {`spec.whole["1"]: found null, must be an object`},
		`{"whole":{"1":{},"2":{},"3":{}}}`: {"spec.whole: found an object of 3 entries, must have at most 2 entries"},
		`{"whole":{"128":{}}}`:             {`spec.whole["128"]: must have a key that is an integer from -128 to 127`},
		`{"whole":{"a":{"size":6}}}`:       {"spec.whole.a: must have a key that is an integer from -128 to 127", "spec.whole.a.size: found number 6, must be less than or equal to 5"},
		`{"natural":{"-1":"a"}}`:           {`spec.natural["-1"]: must have a key that is an integer from 0 to 65535`},
		`{"ips":{"10.0.0":{}}}`:            {`spec.ips["10.0.0"]: must have a well-formed key; ParseAddr("10.0.0"): IPv4 address too short`},
		`{"ips":{"a token":{}}}`:           {`spec.ips["a token"]: must have a well-formed key`},
		`{"hidden":{"10.0.0":7}}`:          {`spec.hidden["10.0.0"]: must have a well-formed key`},
		`{"named":{"a":{"size":6}}}`:       {"spec.named.a.size: found number 6, must be less than or equal to 5"},
	} {
		if diff := cmp.Diff(want, sentences(read(specIn(t, text)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for range 20 { // whatever the order of the map, the answer is one
		got := read(specIn(t, `{"natural":{"1":"a","01":"b","001":"c"}}`)).Object.(*specOf[spec]).Spec.Natural
		if diff := cmp.Diff(map[uint16]string{1: "a"}, got); diff != "" {
			t.Fatalf("keys that are read as one (-want +got):\n%s", diff)
		}
	}
	var status spec
	raw := map[string]any{"whole": map[string]any{"1": map[string]any{"size": int64(1)}, "x": map[string]any{}}}
	unfit := new(Reader).readLeniently(shapeOf(reflect.TypeFor[spec]()), raw, reflect.ValueOf(&status).Elem())
	if diff := cmp.Diff(spec{Whole: map[int8]value{1: {Size: 1}}}, status, cmp.AllowUnexported(netip.Addr{})); diff != "" || !unfit {
		t.Errorf("a status with a key that does not fit: unfit %t (-want +got):\n%s", unfit, diff)
	}
}
