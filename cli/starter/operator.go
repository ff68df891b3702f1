package starter

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"stoic/schema"
)

// Operator describes a new operator. WithDefaults fills in omitted values that have a default.
type Operator struct {
	Group, Version, Kind, Plural string
	Cluster                      bool // its objects are cluster-scoped
	Module                       string
	Engine                       string // folder of the sources of stoic
	Fields                       []Field
}

// WithDefaults fills in what is omitted, except the engine.
func (o Operator) WithDefaults() Operator {
	if o.Version == "" {
		o.Version = "v1alpha1"
	}
	if o.Plural == "" {
		o.Plural = PluralOf(o.Singular())
	}
	if o.Module == "" {
		o.Module = o.Group + "/" + o.Name()
	}
	if len(o.Fields) == 0 {
		o.Fields = []Field{{Name: "message", kind: "string"}}
	}
	return o
}

// Singular returns the kind in lower case, which is also the name of the Go package.
func (o Operator) Singular() string { return strings.ToLower(o.Kind) }

// Package returns the name of the Go package.
func (o Operator) Package() string { return o.Singular() }

// Name returns the name of the operator: of its program, its Deployment and its service account.
func (o Operator) Name() string { return o.Singular() + "-operator" }

// Namespace returns where the operator runs.
func (o Operator) Namespace() string { return o.Name() }

// First returns the field that tests change.
func (o Operator) First() Field { return o.Fields[0] }

// Numbers reports whether a field is written as a number or a truth value.
func (o Operator) Numbers() bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return f.kind == "int" || f.kind == "bool" })
}

// Lists reports whether a field is a list of texts.
func (o Operator) Lists() bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool { return f.kind == "[]string" })
}

// mostOfKind is the maximal length of a kind: labels and namespaces of at most 63 characters are made from it.
const mostOfKind = 48

var (
	kindForm    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	versionForm = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	moduleForm  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+(/[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*)*$`)
)

// Check returns the first thing that is wrong with an operator, and names the flag; nil if nothing is.
func (o Operator) Check() error {
	for _, check := range []func() error{o.checkGroup, o.checkKind, o.checkNames} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func wrong(flag, found, want, hint string) error {
	text := "--" + flag + ": found " + schema.Quote(found) + ", must " + want
	if hint != "" {
		text += "; " + hint
	}
	return fmt.Errorf("%s", text)
}

func (o Operator) checkGroup() error {
	switch problems := validation.IsDNS1123Subdomain(o.Group); {
	case len(problems) > 0 || !strings.Contains(o.Group, "."):
		return wrong("group", o.Group, "be a domain name in lower case that you own, such as apps.example.com", "")
	case o.Group == "k8s.io" || o.Group == "kubernetes.io" || strings.HasSuffix(o.Group, ".k8s.io") || strings.HasSuffix(o.Group, ".kubernetes.io"):
		return wrong("group", o.Group, "be outside of k8s.io and kubernetes.io", "API servers refuse definitions of these without an approval of the Kubernetes project")
	}
	return nil
}

func (o Operator) checkKind() error {
	switch {
	case !kindForm.MatchString(o.Kind):
		hint := ""
		if upper := strings.ToUpper(o.Kind[:min(1, len(o.Kind))]) + o.Kind[min(1, len(o.Kind)):]; kindForm.MatchString(upper) {
			hint = "did you mean " + schema.Quote(upper) + "?"
		}
		return wrong("kind", o.Kind, "be letters and digits that begin with a capital letter, such as FooBar", hint)
	case len(o.Kind) > mostOfKind:
		return wrong("kind", o.Kind, fmt.Sprintf("have at most %d characters", mostOfKind), "the names of its namespace and service account are made of it")
	case token.IsKeyword(o.Package()) || o.Package() == "main":
		return wrong("kind", o.Kind, "not be a reserved word of Go in lower case", "the package is called so: choose another name")
	case o.Kind == "Watches" || strings.HasPrefix(o.Kind, "Test"):
		return wrong("kind", o.Kind, "not be Watches, nor begin with Test", "functions of the package are called so")
	case strings.HasSuffix(o.Kind, "List"):
		return wrong("kind", o.Kind, "not end in List", "kinds of lists are called so")
	}
	if group := builtIn(o.Kind); group != "" {
		return wrong("kind", o.Kind, "not be a kind of Kubernetes ("+group+")", "kubectl would mix them up: choose another name")
	}
	return nil
}

// builtIn returns the group and version in which Kubernetes has a kind; empty if Kubernetes has no such kind.
func builtIn(kind string) string {
	for _, own := range []string{"CustomResourceDefinition", "APIService"} {
		if strings.EqualFold(own, kind) {
			return "apiextensions.k8s.io or apiregistration.k8s.io"
		}
	}
	var found []string
	for known := range scheme.Scheme.AllKnownTypes() {
		if strings.EqualFold(known.Kind, kind) {
			found = append(found, known.GroupVersion().String())
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

func (o Operator) checkNames() error {
	switch {
	case !versionForm.MatchString(o.Version) || len(o.Version) > 63:
		return wrong("version", o.Version, "be such as v1alpha1, v1beta1 or v1", "")
	case len(validation.IsDNS1035Label(o.Plural)) > 0:
		return wrong("plural", o.Plural, "be lower-case letters, digits and hyphens that begin with a letter, such as foobars", "")
	case o.Plural == o.Singular():
		return wrong("plural", o.Plural, "differ from the singular, which is the kind in lower case", "")
	case len(o.Plural)+1+len(o.Group) > validation.DNS1123SubdomainMaxLength:
		return wrong("group", o.Group, fmt.Sprintf("leave room for the name of the definition, %s.GROUP, which has at most %d characters", o.Plural, validation.DNS1123SubdomainMaxLength), "")
	case !moduleForm.MatchString(o.Module) || len(o.Module) > 200:
		return wrong("module", o.Module, "be the path of a Go module that begins with a domain name, such as example.com/foobar-operator", "")
	}
	return nil
}

// PluralOf returns the plural of an English word. A flag corrects what it gets wrong.
func PluralOf(word string) string {
	switch {
	case word == "":
		return ""
	case hasAnySuffix(word, "s", "x", "z", "ch", "sh"):
		return word + "es"
	case strings.HasSuffix(word, "y") && !hasAnySuffix(word, "ay", "ey", "iy", "oy", "uy"):
		return strings.TrimSuffix(word, "y") + "ies"
	}
	return word + "s"
}

func hasAnySuffix(word string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(word, s) })
}
