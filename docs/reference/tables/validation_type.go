package main

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// form is the JSON that a field of the wire form accepts, according to its Go type. It is used to choose wrong values; only the converter
// knows what they get.
type form struct {
	word   string       // "string", "list", "map", "object", ...
	elem   *form        // of lists and maps
	object reflect.Type // of objects: the struct
}

const (
	wordObject = "object"
	wordList   = "list"
	wordMap    = "map"
	wordString = "string"
	wordAny    = "any value"
)

// String returns the form as readers see it, but without the name of an object's type: "list of objects".
func (f form) String() string {
	switch f.word {
	case wordList:
		return "list of " + plural(f.elem.String())
	case wordMap:
		return "map of " + plural(f.elem.String())
	}
	return f.word
}

func plural(words string) string {
	words, more, _ := strings.Cut(words, ",")
	if more != "" {
		more = "," + more
	}
	if stem, is := strings.CutSuffix(words, "y"); is {
		return stem + "ies" + more
	}
	return words + "s" + more
}

// struck returns the struct type of a field, or of its items; nil if there is none.
func (f form) struck() reflect.Type {
	for f.elem != nil {
		f = *f.elem
	}
	return f.object
}

func formOf(t reflect.Type) form {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return form{word: "quantity"}
	case reflect.TypeFor[intstr.IntOrString]():
		return form{word: "integer or string"}
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return form{word: "time"}
	case reflect.TypeFor[metav1.Duration]():
		return form{word: "duration"}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return form{word: wordAny}
	}
	switch t.Kind() {
	case reflect.Struct:
		return form{word: wordObject, object: t}
	case reflect.Map:
		elem := formOf(t.Elem())
		return form{word: wordMap, elem: &elem}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return form{word: "base64"}
		}
		elem := formOf(t.Elem())
		return form{word: wordList, elem: &elem}
	case reflect.String:
		return form{word: wordString}
	case reflect.Bool:
		return form{word: "boolean"}
	case reflect.Int32:
		return form{word: "integer, 32 bits"}
	case reflect.Int, reflect.Int64:
		return form{word: "integer, 64 bits"}
	case reflect.Float32, reflect.Float64:
		return form{word: "number"}
	}
	return form{word: wordAny}
}

// field is one field of a struct, by its JSON name.
type field struct {
	name string
	form form
}

// fieldsOf lists the JSON fields of a struct, in the order of the Go type.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "", strings.Contains(options, "inline"):
			fields = append(fields, fieldsOf(f.Type)...)
		case name == "-", !f.IsExported():
		default:
			fields = append(fields, field{name, formOf(f.Type)})
		}
	}
	return fields
}
