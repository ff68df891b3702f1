package schema

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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
