package check

import (
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"stoic/schema"
)

// Refusals converts errors of an API server to problems, each once, with the paths of the definition in the file. It leaves out
// errors at a path where known already has such a problem.
func Refusals(crd *crdv1.CustomResourceDefinition, refusals field.ErrorList, known []schema.Problem) []schema.Problem {
	var p problems
	for _, refusal := range refusals {
		body := refusal.ErrorBody()
		path := place(crd, KubectlPath(refusal.Field))
		code := RefusedByServer
		switch {
		case crd.Spec.Names.Kind == "" && follows(path):
			continue
		case slices.ContainsFunc(known, func(k schema.Problem) bool {
			return (k.Code == NotStructural || k.Code == RefusedByServer) && k.Path == path
		}):
			continue
		case strings.Contains(path, ".x-kubernetes-validations["):
			code = RuleRefused
		case strings.HasSuffix(path, ".default") || strings.Contains(path, ".default."):
			code = DefaultRefused
		}
		found, want := "", body
		if value, detail, ok := strings.Cut(strings.TrimPrefix(body, "Invalid value: "), ": "); ok && strings.HasPrefix(body, "Invalid value: ") && len(value) < 200 {
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
	return schema.SortProblems(p)
}

// follows reports whether an API server derives a value from spec.names.kind: without a kind that cause is enough.
func follows(path string) bool { return path == "spec.names.listKind" || path == "spec.names.singular" }

// verb turns a sentence of the API server into one that can follow "must".
func verb(says string) string {
	for _, v := range []string{"be ", "not ", "have ", "match ", "contain ", "equal "} {
		if strings.HasPrefix(says, v) {
			return says
		}
	}
	return "be accepted by the API server, which says: " + says
}

// place returns the path in the file for a path in the API server's internal form of a definition. That form has at its top what
// all versions share.
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
