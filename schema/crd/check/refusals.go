package check

import (
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// Refusal is one error of the API server's own code, as tools/crdcheck prints it.
type Refusal struct {
	Path   string `json:"path"`
	Type   string `json:"type"` // of a field.Error
	Detail string `json:"detail"`
}

// Refusals are the errors of an API server as problems, at the place where the definition in the file has what they are about. Those
// at a place of which known says already that it is refused are left out.
func Refusals(crd *crdv1.CustomResourceDefinition, all []Refusal, known []schema.Problem) []schema.Problem {
	var p problems
	for _, r := range all {
		path := place(crd, dotted(r.Path))
		code := RefusedByServer
		switch {
		case slices.ContainsFunc(known, func(k schema.Problem) bool {
			return (k.Code == NotStructural || k.Code == RefusedByServer) && k.Path == path
		}):
			continue
		case strings.Contains(path, ".x-kubernetes-validations["):
			code = RuleRefused
		case strings.HasSuffix(path, ".default") || strings.Contains(path, ".default."):
			code = DefaultRefused
		}
		found, want := "", r.Detail
		if value, detail, ok := strings.Cut(strings.TrimPrefix(r.Detail, "Invalid value: "), ": "); ok && strings.HasPrefix(r.Detail, "Invalid value: ") && len(value) < 200 {
			found, want = value, detail
		}
		if code == RuleRefused || code == DefaultRefused {
			found = "" // it stands there
		}
		want = strings.TrimPrefix(strings.TrimSpace(want), "in body ")
		want = strings.TrimPrefix(strings.TrimPrefix(want, "Required value: "), "must ")
		if want == "Required value" {
			want = "be set"
		}
		p.add(code, path, found, verb(want), "")
	}
	return p
}

// verb makes a sentence of the API server one that can stand behind "must".
func verb(says string) string {
	for _, v := range []string{"be ", "not ", "have ", "match ", "contain ", "equal "} {
		if strings.HasPrefix(says, v) {
			return says
		}
	}
	return "be accepted by the API server, which says: " + says
}

// place is where the file has what the API server's inner form of a definition has: what all versions have in common stands at
// the top there.
func place(crd *crdv1.CustomResourceDefinition, path string) string {
	if len(crd.Spec.Versions) == 0 {
		return path
	}
	for _, moved := range [][2]string{{"spec.validation.", "spec.versions[0].schema."}, {"spec.subresources", "spec.versions[0].subresources"},
		{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"}, {"spec.selectableFields", "spec.versions[0].selectableFields"}} {
		if rest, ok := strings.CutPrefix(path, moved[0]); ok {
			return moved[1] + rest
		}
	}
	return path
}
