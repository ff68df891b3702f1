package convert

import (
	"encoding/json"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stoic/schema"
)

// sample has a field of every form that a kind's own fields may take.
type sample struct {
	Text     string                `json:"text"`
	Word     word                  `json:"word,omitempty"`
	Flag     bool                  `json:"flag"`
	Small    int8                  `json:"small"`
	Unsigned uint16                `json:"unsigned"`
	Huge     uint64                `json:"huge"`
	Ratio    float64               `json:"ratio"`
	Bytes    []byte                `json:"bytes"`
	Amount   resource.Quantity     `json:"amount"`
	Port     intstr.IntOrString    `json:"port"`
	Moment   metav1.Time           `json:"moment"`
	Micro    *metav1.MicroTime     `json:"micro"`
	Lasting  *metav1.Duration      `json:"lasting"`
	Words    map[word]int8         `json:"words"`
	Lists    [][]string            `json:"lists"`
	Next     *sample               `json:"next"`
	Samples  map[string]sample     `json:"samples"`
	Own      *picky                `json:"own"`
	Any      any                   `json:"any"`
	Numbered map[int]string        `json:"numbered"`
	Single   float32               `json:"single"`
	Address  netip.Addr            `json:"address"`
	By       map[netip.Addr]string `json:"by"`
	Untagged string
	Hidden   string `json:"-"`
	private  string //nolint:unused // the walk passes over fields that are not exported
	Embedded
	*Pointed
	Inlined `json:",inline"`
}

type (
	word     string
	Embedded struct {
		Inner string `json:"inner"`
		Text  string `json:"text"` // hidden by the outer one
	}
	Pointed struct {
		Found string `json:"found"`
	}
	Inlined struct {
		Deep *int32 `json:"deep"`
	}
)

// picky has a JSON form of its own.
type picky struct{ word string }

func (p *picky) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &p.word) }

// walked decodes JSON text into a sample and returns what was found.
func walked(t *testing.T, raw map[string]any) (sample, []string) {
	t.Helper()
	r := NewReader()
	var s sample
	r.Walk(shapeOf(reflect.TypeFor[sample]()), raw, reflect.ValueOf(&s).Elem())
	if len(r.at) != 0 {
		t.Errorf("the walk did not come back: %v", r.at)
	}
	var found []string
	for _, p := range append(r.problems.list(), r.warnings.list()...) {
		found = append(found, p.String())
	}
	return s, found
}

func TestWalkTells(t *testing.T) {
	for _, c := range []struct {
		field string
		raw   any
		want  string
	}{
		{"small", int64(128), "small: found number 128, must be from -128 to 127"},
		{"small", -128.5, "small: found number -128.5, must be an integer"},
		{"small", math.NaN(), "small: found number NaN, must be an integer"},
		{"small", math.Inf(1), "small: found number +Inf, must be an integer"},
		{"small", "1.0", `small: found string "1.0", must be an integer; remove the quotes`},
		{"small", "1.5", `small: found string "1.5", must be an integer`},
		{"small", 1e300, "small: found number 1e+300, must be from -128 to 127"},
		{"small", -1e300, "small: found number -1e+300, must be from -128 to 127"},
		{"unsigned", int64(-1), "unsigned: found number -1, must be from 0 to 65535"},
		{"huge", uint64(math.MaxUint64), "huge: found number 18446744073709552000, must be less than or equal to 9223372036854775807"},
		{"ratio", math.NaN(), "ratio: found number NaN, must be a finite number"},
		{"ratio", "x", `ratio: found string "x", must be a number`},
		{"bytes", "*", `bytes: found string "*", must be base64`},
		{"bytes", int64(1), `bytes: found number 1, must be a string; quote it: "1"`},
		{"moment", "yesterday", `moment: found string "yesterday", must be a time such as "2006-01-02T15:04:05Z"`},
		{"micro", true, `micro: found boolean true, must be a string; quote it: "true"`},
		{"lasting", "1 hour", `lasting: found string "1 hour", must be a duration such as "1h30m"`},
		{"port", 1.5, "port: found number 1.5, must be an integer or a string"},
		{"port", 1e300, "port: found number 1e+300, must be less than or equal to 2147483647"},
		{"port", true, "port: found boolean true, must be an integer or a string"},
		{"words", map[string]any{"a/b": nil}, `words["a/b"]: found null, must be an integer`},
		{"words", map[string]any{"-a": "1"}, `words["-a"]: found string "1", must be an integer; remove the quotes`},
		{"lists", []any{nil}, "lists[0]: found null, must be a list"},
		{"lists", []any{[]any{int64(1)}}, `lists[0][0]: found number 1, must be a string; quote it: "1"`},
		{"next", map[string]any{"next": []any{}}, "next.next: found a list, must be an object"},
		{"own", int64(3), "own: found number 3, must be well-formed; json: cannot unmarshal number into Go value of type string"},
		{"any", func() {}, "any: found something that is not JSON, must be a value that JSON knows"},
		{"any", []any{math.NaN()}, "any[0]: found number NaN, must be a value that JSON knows"},
		{"text", []string{"a"}, "text: found something that is not JSON, must be a string"},
		{"small", json.Number("x\n"), "small: found number x , must be an integer"},
		{"flag", map[string]any{}, "flag: found an object, must be true or false"},
		{"Hidden", "", "Hidden: unknown field"},
		{"private", "", "private: unknown field"},
		{"single", 1e300, "single: found number 1e+300, must be a number of 32 bits"},
		{"address", "1.2.3", `address: found string "1.2.3", must be well-formed; ParseAddr("1.2.3"): IPv4 address too short`},
		{"lasing", "", "lasing: unknown field; did you mean `lasting`?"},
	} {
		got, found := walked(t, map[string]any{c.field: c.raw})
		if !slices.Contains(found, c.want) {
			t.Errorf("%s: %v:\ngot  %q\nwant %q", c.field, c.raw, found, c.want)
		}
		if got.Small != 0 || got.Unsigned != 0 || got.Micro != nil || got.Lasting != nil {
			t.Errorf("%s: %v: decoded all the same: %+v", c.field, c.raw, got)
		}
	}
}

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
