package cli

import (
	"fmt"
	"slices"
	"strings"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/versions/offline"
)

// recognition says what a document is, by its apiVersion and kind:
//
//	                                          kind  problems  warnings
//	a job that this program serves             set
//	a job that lacks its apiVersion            set   one
//	a job of an older operator, or of a
//	version or group that nobody serves              one
//	a job of another operator                                  one
//	an object of another API
type recognition struct {
	kind               *training.Kind
	problems, warnings []schema.Problem
}

func (r recognition) ofOurAPI() bool { return r.kind != nil || len(r.problems)+len(r.warnings) > 0 }

// otherOperators are the API groups of operators that have kinds with the names of ours.
var otherOperators = map[string]string{
	"batch.paddlepaddle.org": "paddle-operator",
	"training.kubedl.io":     "KubeDL",
	"kubedl.io":              "KubeDL",
}

// recognize finds out what a document is. A form that only an older operator ran is not checked further: all else follows from it.
func recognize(fields map[string]any) recognition {
	apiVersion, _ := fields["apiVersion"].(string)
	name, _ := fields["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, kind := range kinds.Served() {
		if kind.APIVersion() == apiVersion && strings.EqualFold(name, kind.Name) {
			return recognition{kind: kind}
		}
	}
	if former, known := offline.Find(apiVersion, name); known {
		problems := []schema.Problem{formerProblem(apiVersion, former)}
		if name != former.Kind {
			problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "kind", Found: schema.Quote(name), Want: "be " + schema.Quote(former.Kind)})
		}
		return recognition{problems: problems}
	}
	first := kinds.All()[0]
	i := slices.IndexFunc(kinds.All(), func(kind *training.Kind) bool { return strings.EqualFold(name, kind.Name) })
	switch {
	case name == "" && group == first.Group:
		return recognition{problems: []schema.Problem{{Code: schema.MissingField, Path: "kind", Want: "be set"}}}
	case i < 0:
		return recognition{}
	}
	kind := kinds.All()[i]
	operator := otherOperators[group]
	switch {
	case apiVersion == "":
		return recognition{kind: kind, problems: []schema.Problem{{Code: schema.MissingField, Path: "apiVersion", Want: "be set", Hint: `write "` + kind.APIVersion() + `"`}}}
	case group == kind.Group, group == "kubeflow":
		return recognition{problems: []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion", Found: schema.Quote(apiVersion), Want: servedVersions(kind)}}}
	case operator != "":
		return recognition{warnings: []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion",
			Found: fmt.Sprintf("%s: this %s is for %s, and not checked", schema.Quote(apiVersion), kind.Name, operator),
			Hint:  fmt.Sprintf("write it as a %s of %s to run it here; `stoic explain %s` shows its fields", kind.Name, kind.APIVersion(), strings.ToLower(kind.Name))}}}
	}
	return recognition{}
}

// formerProblem says of a job of an older operator what to do with it.
func formerProblem(apiVersion string, former offline.Former) schema.Problem {
	p := schema.Problem{Code: schema.InvalidValue, Path: "apiVersion", Found: fmt.Sprintf("%s, which %s ran", schema.Quote(apiVersion), former.Operator)}
	if former.Converts {
		p.Want, p.Hint = `be "kubeflow.org/v1"`, "`stoic convert` writes it as kubeflow.org/v1"
	} else {
		p.Hint = former.Instead
	}
	return p
}

// servedVersions is the requirement for the apiVersion of a kind.
func servedVersions(of *training.Kind) string {
	var served []string
	for _, kind := range kinds.Served() {
		if kind.Name == of.Name {
			served = append(served, schema.Quote(kind.APIVersion()))
		}
	}
	return "be " + strings.Join(served, " or ")
}
