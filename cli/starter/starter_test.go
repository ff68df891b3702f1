package starter

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPluralOf(t *testing.T) {
	for word, want := range map[string]string{"foobar": "foobars", "proxy": "proxies", "day": "days", "box": "boxes", "class": "classes", "watch": "watches",
		"dish": "dishes", "quiz": "quizes", "y": "ies", "": ""} {
		if got := PluralOf(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// TestWhateverIsChecked: what passes Check is rendered as Go that parses, and everything else gets an error message.
func TestWhateverIsChecked(t *testing.T) {
	word := rapid.StringMatching(`[A-Za-z0-9.:,/\[\]-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		o := Operator{Group: rapid.OneOf(word, rapid.Just("a.example.com")).Draw(t, "group"), Kind: rapid.OneOf(word, rapid.StringMatching(`[A-Z][a-z0-9]{0,60}`)).Draw(t, "kind"),
			Version: rapid.OneOf(word, rapid.Just("v1")).Draw(t, "version"), Plural: rapid.OneOf(word, rapid.Just("")).Draw(t, "plural"),
			Module: rapid.OneOf(word, rapid.Just("")).Draw(t, "module"), Cluster: rapid.Bool().Draw(t, "cluster"), Engine: "../.."}
		fields, err := ParseFields(rapid.OneOf(word, rapid.StringMatching(`([a-z][A-Z]?:(string|int|bool|\[\]string|\[\]int)(,|$)){0,3}`), rapid.Just("")).Draw(t, "fields"))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "--fields: found ") {
				t.Fatal(err)
			}
			return
		}
		o.Fields = fields
		o = o.WithDefaults()
		if err := o.Check(); err != nil {
			if !strings.HasPrefix(err.Error(), "--") || !strings.Contains(err.Error(), ", must ") || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		files, err := o.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"types.go", "decide.go", "decide_test.go", "integration_test.go", "cmd/main.go", "doc.go", "go.mod", "go.sum", ".gitignore", "Makefile",
			"README.md", "Dockerfile", "deploy/rbac.yaml", "deploy/users.yaml", "deploy/deployment.yaml", "deploy/namespace.yaml", "deploy/kustomization.yaml"} {
			if len(files[name]) == 0 || strings.Contains(string(files[name]), "<no value>") {
				t.Fatalf("%s: %q", name, files[name])
			}
		}
	})
}
