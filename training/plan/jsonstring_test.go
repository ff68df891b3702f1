package plan

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"stoic/schema"
)

// TestJSONStrings: each value is encoded correctly, whatever its common prefix with others, and wherever that ends.
func TestJSONStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a ~"\\<\x7f\né€😀]{0,20}`), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) // not always UTF-8
		}))
		head := string(bytes.Repeat([]byte(`{"host":"é"}`), rapid.IntRange(0, 40).Draw(t, "length")))
		if plain := text.Draw(t, "plain"); string(quote(plain)) != string(schema.JSON(plain)) {
			t.Fatalf("quote(%q) is %s", plain, quote(plain))
		}
		var q jsonStrings
		for range 6 {
			value := head[:rapid.IntRange(0, len(head)).Draw(t, "cut")] + text.Draw(t, "end")
			if got, want := string(q.add([]byte("x"), value)), "x"+string(schema.JSON(value)); got != want {
				t.Fatalf("%q after %q:\ngot  %s\nwant %s", value, q.shared, got, want)
			}
		}
	})
}
