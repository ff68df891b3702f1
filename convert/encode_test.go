package convert

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/test/untyped"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		raw  any
		want string
	}{
		{nil, "null"},
		{map[string]any{"b": int64(9007199254740993), "a": []any{true, false, nil, 1.5, "<&>\u2028é"}}, "{\"a\":[true,false,null,1.5,\"<&>\u2028é\"],\"b\":9007199254740993}"},
		{"\"\\\n\r\t\x00\x1f\x7f", `"\"\\\n\r\t\u0000\u001f` + "\x7f" + `"`},
		{"a\xffb\xc3", "\"a\uFFFDb\uFFFD\""},
		{map[string]any{}, "{}"},
		{[]any{}, "[]"},
		{math.NaN(), "null"},
		{struct{}{}, "null"},
	} {
		if got := string(new(Encoder).Encode(c.raw)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if deep := new(Encoder).Encode(untyped.Nested(100000)); !bytes.Contains(deep, []byte("null")) || len(deep) > 10000 {
		t.Errorf("%d bytes", len(deep))
	}
}

// TestEncodeAgrees: the encoding decodes to the same value as that of encoding/json.
func TestEncodeAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := map[string]any{
			rapid.String().Draw(t, "key"): rapid.String().Draw(t, "text"),
			"bytes":                       string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")),
			"list":                        []any{rapid.Int64().Draw(t, "integer"), rapid.Float64().Draw(t, "float"), rapid.Bool().Draw(t, "flag")},
		}
		theirs, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(theirs, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(new(Encoder).Encode(raw), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
