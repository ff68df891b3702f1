package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"stoic/deploy"
	"stoic/schema"
	"stoic/training"
)

func TestValidation(t *testing.T) {
	all, err := surveys()
	if err != nil {
		t.Fatal(err)
	}
	page := all[0].page(all[1:])
	t.Run("stable", func(t *testing.T) {
		last := all[len(all)-1] // make verify makes them all once more
		if again, err := surveyOf(last.kind); err != nil || again.page(nil) != last.page(nil) {
			t.Errorf("made twice, it differs: %v", err)
		}
		for _, s := range all {
			if !reflect.DeepEqual(s.whole, right(s.kind)) {
				t.Errorf("the survey leaves something behind: %v", s.whole)
			}
		}
	})
	for _, s := range all {
		t.Run("every field of "+versioned(s.kind), func(t *testing.T) { everyField(t, s) })
		t.Run("no field takes every type, "+versioned(s.kind), func(t *testing.T) { noneTakesAll(t, s) })
	}
	t.Run("of the others alone", func(t *testing.T) {
		for i, first := range []string{"", "JAXJob JAXJobSpec", "MPIJob MPIJobSpec", "PaddleJob PaddleJobSpec PaddleElasticPolicySpec MetricSpec"} {
			var names []string
			for _, section := range all[i].without(all[:i]) {
				names = append(names, section.name)
			}
			if got := strings.Join(names, " "); i > 0 && !strings.HasPrefix(got+" ", first+" ") {
				t.Errorf("the first are %s, want %s", got, first)
			}
		}
	})
	t.Run("rows", func(t *testing.T) { knownRows(t, page) })
	t.Run("links", func(t *testing.T) { links(t, page) })
	t.Run("codes", func(t *testing.T) { everyCode(t, page) })
	if len(page) > 140_000 {
		t.Errorf("%d bytes are more than anybody reads", len(page))
	}
}

// everyField checks that each property of the CRD, which is generated from the same types by other means, has a row in the section of its
// place. Each row must be a property of the CRD, except for metadata, of which the CRD has only a part.
func everyField(t *testing.T, s *survey) {
	at := map[string]*section{}
	for _, section := range s.sections {
		for _, place := range section.places {
			at[anyIndex.ReplaceAllString(strings.Replace(place, ".Worker", ".*", 1), "[]")] = section
		}
	}
	checked := 0
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		if items, _ := schema["items"].(map[string]any); items != nil {
			walk(path+"[]", items)
		}
		if entries, _ := schema["additionalProperties"].(map[string]any); entries != nil {
			walk(path+".*", entries)
		}
		properties, _ := schema["properties"].(map[string]any)
		if len(properties) == 0 {
			return
		}
		section := at[path]
		if section == nil {
			t.Errorf("no section for %s", path)
			return
		}
		for _, r := range section.rows {
			if properties[r.name] == nil && section.object != reflect.TypeFor[metav1.ObjectMeta]() {
				t.Errorf("%s has a row for %s, which is not in the CRD", section.name, r.name)
			}
		}
		for name, property := range properties {
			checked++
			if !slices.ContainsFunc(section.rows, func(r row) bool { return r.name == name }) {
				t.Errorf("%s has no row for %s", section.name, name)
			}
			if below, _ := property.(map[string]any); join(path, name) != "status" {
				walk(join(path, name), below)
			}
		}
	}
	walk("", crd(t, s.kind))
	t.Logf("%d fields of %d types", checked, len(s.sections))
	if checked < 1000 {
		t.Errorf("only %d fields were looked for", checked)
	}
}

// crd returns the schema of the objects in the CRD.
func crd(t *testing.T, kind *training.Kind) map[string]any {
	t.Helper()
	text, err := deploy.CRD(kind.Plural, kind.Singular, kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil || len(crd.Spec.Versions) != 1 {
		t.Fatalf("the CRD: %+v, %v", crd, err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// noneTakesAll checks that a field without a note rejects values of a wrong type.
func noneTakesAll(t *testing.T, s *survey) {
	for _, section := range s.sections {
		for _, r := range section.rows {
			minds := slices.ContainsFunc(r.reported, func(t reported) bool { return t.Code == schema.TypeMismatch })
			if r.note == "" && r.form.word != wordAny && !minds {
				t.Errorf("%s.%s takes values of any type, and its row does not say so", section.name, r.name)
			}
		}
	}
}

// knownRows checks some rows whose content is known.
func knownRows(t *testing.T, page string) {
	for section, lines := range map[string][]string{
		"What each type gets": {
			"| list of strings | `TypeMismatch` must be a list: `\"text\"`, `1`, `true`, ...<br>item: `TypeMismatch` must be a string: ",
			"`InvalidValue` must be a quantity such as \"64Gi\" or \"64G\": ",
			"warning `UnknownField`",
		},
		"TFJob":         {"| `status` | object | not checked |"},
		"RunPolicySpec": {"| `cleanPodPolicy` | string | `InvalidValue` must be one of \"All\", \"Running\", \"None\": ", "| `suspend` | boolean |  |"},
		"ReplicaSpec":   {"| `replicas` | integer, 32 bits | `OutOfRange` must be from 0 to 20000: `-1`, `20001`, "},
		"PodSpec": {"| `restartPolicy` | string | has no effect: it does not get into the pods; warning `Conflict` it is ignored, ",
			"| `containers` | list of [Container](#container) | `MissingContainer` must include a container named \"tensorflow\": `[]`<br>"},
		"Container": {"| `args` | list of strings |  |", "| `name` | string | `MissingField` must be set: `\"\"`, left out, `null`<br>`DuplicateName` must be unique",
			"| `ports` | list of [ContainerPort](#containerport) | item.name: `DuplicateName` must be unique among the ports of the container: two equal items |"},
		"PyTorchJobSpec":    {"| `elasticPolicy` | [ElasticPolicySpec](#elasticpolicyspec) |", "| `nprocPerNode` | string |"},
		"ElasticPolicySpec": {"| `rdzvPort` | integer, 32 bits | `OutOfRange` must be from 1 to 65535: ", "| `metrics` | list of [MetricSpec](#metricspec) |"},
		"MetricTarget":      {"| `averageUtilization` | integer, 32 bits |"},
		"EnvVar":            {"| `name` | string | `MissingField` must be set: `\"\"`, left out, `null`<br>`InvalidName` must be printable ASCII characters other than \"=\": "},
		"ContainerPort":     {"| `containerPort` | integer, 32 bits | `OutOfRange` must be from 1 to 65535: `-1`, `0`, `65536`, ...<br>`MissingField` must be set: left out, `null` |"},
		"KeyToPath":         {"| `mode` | integer, 32 bits | `OutOfRange` must be from 0 to 0777 in octal: `-1`, `20001`, "},
		"Probe":             {"must have one of `exec`, `httpGet`, `tcpSocket`, `grpc`"},
	} {
		_, text, _ := strings.Cut(page, "# "+section+"\n")
		text, _, _ = strings.Cut(text, "\n#")
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%s has no %q in it:\n%s", section, line, text)
			}
		}
	}
}

// links checks that each link leads to a heading, and that no two headings are equal.
func links(t *testing.T, page string) {
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(h[1]), " ", "-")
		if headings[anchor] {
			t.Errorf("two headings %q", h[1])
		}
		headings[anchor] = true
	}
	all := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(page, -1)
	for _, l := range all {
		if !headings[l[1]] {
			t.Errorf("no heading for %s", l[0])
		}
	}
	if len(all) < 200 {
		t.Errorf("found %d links", len(all))
	}
}

// everyCode checks that each code is on the page with a value that gets it, or with the reason why none does.
func everyCode(t *testing.T, page string) {
	before, rest, _ := strings.Cut(page, "## Codes that are not on this page\n")
	missing, after, _ := strings.Cut(rest, "\n## ")
	for _, c := range schema.Codes() {
		seen := strings.Contains(before+after, code(string(c)))
		reason := elsewhere()[c]
		listed := reason != "" && strings.Contains(missing, "| "+code(string(c))+" | "+reason+" |")
		if seen == listed || seen && reason != "" {
			t.Errorf("%s: seen %v, listed as not seen %v, reason %q", c, seen, listed, reason)
		}
	}
}
