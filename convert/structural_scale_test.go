package convert

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// TestStructuralScale: the paths of the scale subresource must lead to an integer in integer notation, and to a string. A status
// that is a subresource is not checked.
func TestStructuralScale(t *testing.T) {
	const digits = "must be an integer; write it without a fraction or an exponent [TypeMismatch]\n"
	for object, says := range map[string]string{
		`{}`:                                "",
		`{"spec":{"size":{"count":3}}}`:     "",
		`{"spec":{"size":{"count":-1}}}`:    "error: spec.size.count: found number -1, must be greater than or equal to 0 [OutOfRange]\n",
		`{"spec":{"size":{"count":3.0}}}`:   "error: spec.size.count: found number 3, " + digits,
		`{"spec":{"size":{"count":1e300}}}`: "error: spec.size.count: found number 1e+300, must be less than or equal to 2147483647 [OutOfRange]\n",
		`{"spec":{"size":{"count":"3"}}}`:   "error: spec.size.count: found string \"3\", must be an integer; remove the quotes [TypeMismatch]\n",
		`{"spec":{"size":3}}`:               "error: spec.size: found number 3, must be an object [TypeMismatch]\n",
		`{"spec":{"selector":"a=b"}}`:       "",
		`{"spec":{"selector":5}}`:           "error: spec.selector: found number 5, must be a string; quote it: \"5\" [TypeMismatch]\n",
		`{"status":{"count":3}}`:            "",
		`{"status":{"count":3.0}}`:          "error: status.count: found number 3, " + digits,
	} {
		for _, status := range []*apiextensionsv1.CustomResourceSubresourceStatus{nil, {}} {
			s, o := subresourcesIn(t, `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
				status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`, &apiextensionsv1.CustomResourceSubresources{Status: status,
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size.count", StatusReplicasPath: ".status.count",
					LabelSelectorPath: new(".spec.selector")}})
			var raw map[string]any
			if err := json.Unmarshal([]byte(object), &raw); err != nil {
				t.Fatal(err)
			}
			want := says
			if raw["status"] != nil && status != nil {
				want = ""
			}
			if got := describeChecked(checkStructural(s, widget(raw))); got != want {
				t.Errorf("%s, status %v: %q, want %q", object, status != nil, got, want)
			}
			if differs := agree(s, o, raw); differs != "" {
				t.Errorf("%s, status %v: %s", object, status != nil, differs)
			}
		}
	}
}
