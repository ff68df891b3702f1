package starter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stoic/schema"
)

// Field is a field of the spec.
type Field struct {
	Name string // as JSON has it
	kind string // one of Types
}

// Types returns the types that a field can have.
func Types() []string { return []string{"string", "int", "bool", "[]string", "[]int"} }

var fieldForm = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

const (
	mostFields      = 50
	mostOfFieldName = 60
)

// ParseFields reads name:type pairs between commas.
func ParseFields(text string) (fields []Field, err error) {
	if text == "" {
		return nil, nil
	}
	for _, pair := range strings.Split(text, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(pair), ":")
		switch {
		case !fieldForm.MatchString(name) || len(name) > mostOfFieldName:
			return nil, wrong("fields", pair, "be NAME:TYPE, with a name of letters and digits that begins with a small letter, such as maxSize:int", "")
		case !slices.Contains(Types(), kind):
			return nil, wrong("fields", pair, "have one of the types "+strings.Join(Types(), ", "), schema.DidYouMean(kind, Types(), "others are written into types.go by hand"))
		case slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(name)):
			return nil, wrong("fields", pair, "have a name that is no truth value in YAML", "manifests would have to quote it")
		case slices.ContainsFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, name) }):
			return nil, wrong("fields", pair, "have a name of its own", "")
		}
		if fields = append(fields, Field{name, kind}); len(fields) > mostFields {
			return nil, fmt.Errorf("--fields: found more than %d, must be fewer; others are written into types.go by hand", mostFields)
		}
	}
	return fields, nil
}

// Go returns the name of the field in Go.
func (f Field) Go() string { return strings.ToUpper(f.Name[:1]) + f.Name[1:] }

// GoType returns the type of the field in Go.
func (f Field) GoType() string { return strings.ReplaceAll(f.kind, "int", "int64") }

// Markers returns what the CRD says of the field beyond its type. Tag returns the same for the converter.
func (f Field) Markers() []string {
	switch f.kind {
	case "string":
		return []string{"+kubebuilder:validation:MaxLength=1024"}
	case "[]string":
		return []string{"+kubebuilder:validation:MaxItems=64", "+kubebuilder:validation:items:MaxLength=253", "+listType=atomic"}
	case "[]int":
		return []string{"+kubebuilder:validation:MaxItems=64", "+listType=atomic"}
	}
	return nil
}

// Tag: see Markers.
func (f Field) Tag() string {
	return map[string]string{"string": "maxLength=1024", "[]string": "maxItems=64,maxLength=253", "[]int": "maxItems=64"}[f.kind]
}

// Text returns the expression that converts the field of spec to text.
func (f Field) Text() string {
	value := "spec." + f.Go()
	switch f.kind {
	case "int":
		return "strconv.FormatInt(" + value + ", 10)"
	case "bool":
		return "strconv.FormatBool(" + value + ")"
	case "[]string":
		return "strings.Join(" + value + `, "\n")`
	case "[]int":
		return "string(schema.JSON(append([]int64{}, " + value + "...)))"
	}
	return value
}

// sample is one value of a type, in the forms that tests use.
type sample struct{ expression, yaml, text string }

func (f Field) samples() (one, two sample) {
	switch f.kind {
	case "int":
		return sample{"int64(1)", "1", "1"}, sample{"int64(2)", "2", "2"}
	case "bool":
		return sample{"false", "false", "false"}, sample{"true", "true", "true"}
	case "[]string":
		return sample{`[]any{"a"}`, "[a]", "a"}, sample{`[]any{"b"}`, "[b]", "b"}
	case "[]int":
		return sample{"[]any{int64(1)}", "[1]", "[1]"}, sample{"[]any{int64(2)}", "[2]", "[2]"}
	}
	return sample{`"a"`, "a", "a"}, sample{`"b"`, "b", "b"}
}

// Example returns a value in Go, and ExampleText the text of that value in the ConfigMap.
func (f Field) Example() string     { one, _ := f.samples(); return one.expression }
func (f Field) ExampleText() string { one, _ := f.samples(); return one.text }

// Example1 and Example2 return two values in YAML, and Example2Text the text of the second in the ConfigMap.
func (f Field) Example1() string     { one, _ := f.samples(); return one.yaml }
func (f Field) Example2() string     { _, two := f.samples(); return two.yaml }
func (f Field) Example2Text() string { _, two := f.samples(); return two.text }

// Malformed returns a value of another type, in Go.
func (f Field) Malformed() string {
	if f.kind == "string" {
		return "int64(7)"
	}
	return `"seven"`
}
