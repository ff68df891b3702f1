package convert

import (
	"encoding/json"
	"math"
	"testing"

	"stoic/schema"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		raw     any
		text    string
		integer bool
	}{
		{int64(math.MinInt64), "-9223372036854775808", true},
		{int(1), "1", true}, {int8(-1), "-1", true}, {int16(2), "2", true}, {int32(3), "3", true},
		{uint(4), "4", true}, {uint8(5), "5", true}, {uint16(6), "6", true}, {uint32(7), "7", true}, {uint64(8), "8", true},
		{uint64(math.MaxUint64), "18446744073709552000", false},
		{float32(1.5), "1.5", false}, {json.Number("12"), "12", true}, {json.Number("1.25"), "1.25", false},
		{0.0, "0", true}, {-3.0, "-3", true}, {1e15, "1000000000000000", true}, {1e18, "1000000000000000000", true},
		{float64(1 << 63), "9223372036854776000", false}, {-float64(1 << 63), "-9223372036854775808", true},
		{1e21, "1e+21", false}, {1e-7, "1e-07", false}, {0.000001, "0.000001", false},
	} {
		n, ok := numberOf(c.raw)
		_, integer := n.integer()
		if !ok || n.String() != c.text || integer != c.integer {
			t.Errorf("%T %v: %s, integer %t, %t", c.raw, c.raw, n, integer, ok)
		}
		var back float64
		if err := json.Unmarshal([]byte(n.String()), &back); err != nil || back != n.f {
			t.Errorf("%s reads back as %v: %v", n, back, err)
		}
	}
	for _, raw := range []any{nil, "1", true, json.Number("one"), []any{}, struct{}{}} {
		if n, ok := numberOf(raw); ok {
			t.Errorf("%v is the number %s", raw, n)
		}
	}
}

func TestQuantityHint(t *testing.T) {
	for written, want := range map[string]string{
		"64Gb": "64G", "64GB": "64G", "64gib": "64Gi", "1.5 Ti": "1.5Ti", "7 Megabytes": "", "10 mi": "10Mi", "3KB": "3k", "3K": "3k",
		"5B": "5", "Gi": "", "": "", "x": "", "1_000": "", "64G": "", "12 ": "",
	} {
		if want != "" {
			want = `did you mean "` + want + `"?`
		}
		if got := quantityHint(written); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	long := make(path, 200)
	for i := range long {
		long[i].key = "level"
	}
	for _, c := range []struct {
		path path
		want string
	}{
		{nil, ""},
		{path{{key: "spec"}, {key: "containers"}, {index: 12, at: true}, {key: "a-b_c1"}}, "spec.containers[12].a-b_c1"},
		{path{{key: "limits"}, {key: "nvidia.com/gpu"}}, `limits["nvidia.com/gpu"]`},
		{path{{key: ""}}, `[""]`},
		{path{{key: "1a"}, {key: "-b"}}, `["1a"]["-b"]`},
		{path{{key: "a\"\\\n\xff\u202e"}}, `["a\"\\ ` + "\uFFFD" + ` "]`},
	} {
		if got := c.path.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := long.String(); len(got) > MaxPath {
		t.Errorf("%d bytes", len(got))
	}
}

// TestNearest: which known word a misspelt one is taken for.
func TestNearest(t *testing.T) {
	known := []string{"command", "Worker", "PS", "limits", "lists"}
	for word, want := range map[string]string{
		"comand": "command", "COMMAND": "command", "comamnd": "command", "cmd": "", "ps": "PS", "pss": "PS", "p": "PS", "x": "",
		"worker ": "Worker", "limts": "", "": "", "commandcommandcommandcommandcommandcommandcommandcommandcommandcommand": "",
	} {
		got, ok := schema.Nearest(word, known)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %t, want %q", word, got, ok, want)
		}
	}
}
