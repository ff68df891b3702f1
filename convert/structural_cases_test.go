package convert

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// TestStructuralCases: values for which the API server's code differs from what a reader of the schema expects. What only our code
// refuses is a stated exception (test/integration/structural_exceptions_test.go).
func TestStructuralCases(t *testing.T) {
	for _, c := range []struct{ schema, value, says string }{
		{`type: number, maximum: 0.5, exclusiveMaximum: true`, `0`, "found number 0, must be less than 0; an API server cuts the fraction off 0.5 to compare an integer"},
		{`type: number, maximum: 0.5, exclusiveMaximum: true`, `0.25`, ""},
		{`type: number, maximum: 3.5, exclusiveMaximum: true`, `4`, "found number 4, must be less than 3.5"},
		{`type: number, minimum: -0.5, exclusiveMinimum: true`, `0`, "found number 0, must be greater than 0; an API server cuts the fraction off -0.5 to compare an integer"},
		{`x-kubernetes-preserve-unknown-fields: true, maximum: 3.5, exclusiveMaximum: true`, `3`, "found number 3, must be less than 3; an API server cuts the fraction off 3.5 to compare an integer"},
		{`type: integer, allOf: [{maximum: 3.5, exclusiveMaximum: true}]`, `3`, "found number 3, must be less than 3; an API server cuts the fraction off 3.5 to compare an integer"},
		{`type: integer, not: {minimum: -0.5, exclusiveMinimum: true}`, `0`, ""},
		{`type: number, multipleOf: 2.5`, `5`, "found number 5, must be a multiple of 2; an API server cuts the fraction off 2.5 to divide an integer"},
		{`type: number, multipleOf: 2.5`, `3`, "found number 3, must be a multiple of 2.5"},
		{`x-kubernetes-preserve-unknown-fields: true, format: ipv4`, `"1.2.3.4"`, ""},
		{`x-kubernetes-preserve-unknown-fields: true, format: ipv4`, `"x"`, `found string "x", must be an IPv4 address`},
		{`x-kubernetes-preserve-unknown-fields: true, format: ipv4`, `5`, "found number 5, must be an IPv4 address"},
		{`x-kubernetes-preserve-unknown-fields: true, format: ipv4`, `[5]`, ""},
		{`x-kubernetes-preserve-unknown-fields: true, format: date-time`, `{}`, `found an object, must be a time such as "2006-01-02T15:04:05Z"`},
		{`x-kubernetes-preserve-unknown-fields: true, format: password`, `8714502`, "found a number (not shown), must have the format password"},
		{`x-kubernetes-preserve-unknown-fields: true, format: unheard-of`, `5`, ""},
		{`x-kubernetes-preserve-unknown-fields: true, format: int32`, `"x"`, ""},
		{`x-kubernetes-int-or-string: true, allOf: [{format: ipv4}]`, `5`, "found number 5, must be an IPv4 address"},
		{`x-kubernetes-int-or-string: true, anyOf: [{format: ipv4}, {format: ipv6}]`, `5`, "found number 5, must be an IPv4 address, or be an IPv6 address"},
		{`type: string, not: {format: ipv4}`, `"1.2.3.4"`, `found string "1.2.3.4", must not be what the schema excludes`},
	} {
		checkCase(t, c.schema, c.value, c.says, false)
	}
	for _, c := range []struct{ schema, value, says string }{
		{`type: number, maximum: -0.5`, `0`, "found number 0, must be less than or equal to -0.5"},
		{`type: number, minimum: 3.5`, `3`, "found number 3, must be greater than or equal to 3.5"},
		{`type: number, multipleOf: 2.5`, `4`, "found number 4, must be a multiple of 2.5"},
	} {
		checkCase(t, c.schema, c.value, c.says, true)
	}
}

func checkCase(t *testing.T, schema, value, want string, alone bool) {
	t.Helper()
	s, judge := schemaIn(t, `{type: object, properties: {spec: {type: object, properties: {part: {`+schema+`}}}}}`)
	var raw map[string]any
	if err := json.Unmarshal([]byte(`{"spec":{"part":`+value+`}}`), &raw); err != nil {
		t.Fatal(err)
	}
	var says []string
	for _, p := range checkStructural(s, widget(raw)).Problems {
		says = append(says, strings.TrimPrefix(p.String(), "spec.part: "))
	}
	if got := strings.Join(says, "\n"); got != want {
		t.Errorf("%s of {%s}: %q, want %q", value, schema, got, want)
	}
	refusal := describeRefusals(judge.Judge(raw))
	if (refusal != "") != (len(says) > 0 && !alone) {
		t.Errorf("%s of {%s}: the API server says %q", value, schema, refusal)
	}
}
