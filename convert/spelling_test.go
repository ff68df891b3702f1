package convert

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"stoic/schema"
)

// TestSpelling: every result is that of the library, for names close to the limits of what is valid.
func TestSpelling(t *testing.T) {
	for name, c := range map[string]struct {
		ours   func(string) bool
		theirs func(string) []string
	}{
		"dnsLabel":      {dnsLabel, validation.IsDNS1123Label},
		"serviceName":   {ServiceName, validation.IsDNS1035Label},
		"dnsSubdomain":  {dnsSubdomain, func(s string) []string { return validation.IsDNS1123Subdomain(s) }},
		"portName":      {portName, validation.IsValidPortName},
		"labelValue":    {labelValue, func(s string) []string { return validation.IsValidLabelValue(s) }},
		"qualifiedName": {qualifiedName, func(s string) []string { return validation.IsQualifiedName(s) }},
	} {
		t.Run(name, func(t *testing.T) {
			agree := func(t rapid.TB, s string) {
				if got, want := c.ours(s), len(c.theirs(s)) == 0; got != want {
					t.Fatalf("%q: got %v, want %v", s, got, want)
				}
			}
			for _, part := range []string{"", "a", "A", "7", "-", "_", ".", "/", "é", "a.b", "a..b", "a/b", "a/b/c", "a-", "-a", "a--b", "9a", "a9", "99"} {
				for _, n := range []int{0, 1, 13, 14, 15, 16, 61, 62, 63, 64, 251, 252, 253, 254} {
					agree(t, part+strings.Repeat("a", n))
					agree(t, strings.Repeat("a", n)+part)
					agree(t, strings.Repeat("a", n)+part+"x")
					agree(t, strings.Repeat("a.", n/2)+part)
					agree(t, strings.Repeat("a", n)+"/"+part)
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				agree(t, rapid.StringMatching(`[a-cA-C0-2._/-]{0,20}(é|[ -~])?[a-c.-]{0,60}`).Draw(t, "name"))
			})
		})
	}
}

// TestPlainQuantity: what plainQuantity recognizes is a quantity that is not negative.
func TestPlainQuantity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.StringMatching(`-?[0-9]{0,11}(\.|e|E)?[0-9]?(m|k|K|M|G|T|P|E|n|u)?i?B?`).Draw(t, "quantity")
		if !plainQuantity(written) {
			return
		}
		if value, ok := schema.ParseQuantity(written); !ok || value.Sign() < 0 {
			t.Fatalf("%q is %v, %v", written, &value, ok)
		}
	})
	for _, written := range []string{"0", "4", "500m", "16Gi", "999999999T"} {
		if !plainQuantity(written) {
			t.Errorf("%q costs the parser's time", written)
		}
	}
}
