package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stoic/cli/command"
	"stoic/schema"
)

// shape lists the properties that each object of SARIF 2.1.0 may have here; "!" marks required ones. It is written from the
// specification, not from our types.
func shape() map[string]string {
	return map[string]string{
		"log":              "$schema version! runs!",
		"run":              "tool! columnKind originalUriBaseIds results invocations artifacts",
		"tool":             "driver! extensions",
		"driver":           "name! version semanticVersion informationUri rules",
		"rule":             "id! name shortDescription fullDescription help helpUri defaultConfiguration",
		"configuration":    "level enabled rank parameters",
		"text":             "text! markdown",
		"result":           "message! ruleId ruleIndex level kind locations partialFingerprints fingerprints",
		"location":         "id physicalLocation logicalLocations message",
		"physicalLocation": "artifactLocation! region contextRegion",
		"artifactLocation": "uri uriBaseId index description",
		"region":           "startLine! startColumn endLine endColumn",
		"logicalLocation":  "name fullyQualifiedName kind index parentIndex",
	}
}

// sarifCheck checks SARIF, one object at a time.
type sarifCheck struct{ t *testing.T }

func (c sarifCheck) object(kind string, v any) map[string]any {
	c.t.Helper()
	fields, ok := v.(map[string]any)
	if !ok {
		c.t.Fatalf("%s is %T", kind, v)
	}
	known := strings.Fields(shape()[kind])
	for key := range fields {
		if !slices.Contains(known, key) && !slices.Contains(known, key+"!") {
			c.t.Errorf("%s has %q, which SARIF has not", kind, key)
		}
	}
	for _, key := range known {
		if name, must := strings.CutSuffix(key, "!"); must && fields[name] == nil {
			c.t.Errorf("%s lacks %s", kind, name)
		}
	}
	return fields
}

func (c sarifCheck) list(v any) []any {
	c.t.Helper()
	items, ok := v.([]any)
	if !ok && v != nil {
		c.t.Fatalf("%T, want a list", v)
	}
	return items
}

// text checks that a message has text.
func (c sarifCheck) text(v any) {
	c.t.Helper()
	if text, _ := c.object("text", v)["text"].(string); text == "" {
		c.t.Errorf("a message without text: %v", v)
	}
}

func (c sarifCheck) level(v any) {
	c.t.Helper()
	if level, _ := v.(string); !slices.Contains([]string{"none", "note", "warning", "error"}, level) {
		c.t.Errorf("level %v", v)
	}
}

// legalURI matches texts with only the characters that RFC 3986 allows, and complete escapes.
var legalURI = regexp.MustCompile(`^(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$`)

func (c sarifCheck) artifact(v any) {
	c.t.Helper()
	fields := c.object("artifactLocation", v)
	if fields["uri"] == nil {
		c.text(fields["description"])
		return
	}
	text, _ := fields["uri"].(string)
	parsed, err := url.Parse(text)
	if err != nil || text == "" || !legalURI.MatchString(text) {
		c.t.Fatalf("uri %q: %v", text, err)
	}
	parts := strings.Split(parsed.EscapedPath(), "/")
	switch {
	case slices.Contains(parts, ".."):
		c.t.Errorf("uri %q goes up", text)
	case parsed.Scheme == "" && (strings.HasPrefix(text, "/") || fields["uriBaseId"] != sourceRoot):
		c.t.Errorf("uri %q is relative to %v", text, fields["uriBaseId"])
	case parsed.Scheme != "" && (parsed.Scheme != "file" || parsed.Host != "" || fields["uriBaseId"] != nil):
		c.t.Errorf("uri %q is not that of a local file", text)
	}
}

func (c sarifCheck) location(v any) {
	c.t.Helper()
	fields := c.object("location", v)
	if fields["physicalLocation"] != nil {
		physical := c.object("physicalLocation", fields["physicalLocation"])
		c.artifact(physical["artifactLocation"])
		region := c.object("region", physical["region"])
		for _, key := range []string{"startLine", "startColumn"} {
			if n, _ := region[key].(float64); n < 1 {
				c.t.Errorf("%s is %v", key, region[key])
			}
		}
	}
	for _, l := range c.list(fields["logicalLocations"]) {
		logical := c.object("logicalLocation", l)
		if full, _ := logical["fullyQualifiedName"].(string); full == "" {
			c.t.Errorf("%v has no name", logical)
		}
	}
}

// rules returns the ids of the rules, in order.
func (c sarifCheck) rules(v any) (ids []string) {
	c.t.Helper()
	for _, r := range c.list(v) {
		rule := c.object("rule", r)
		for _, key := range []string{"shortDescription", "fullDescription", "help"} {
			c.text(rule[key])
		}
		c.level(c.object("configuration", rule["defaultConfiguration"])["level"])
		id, _ := rule["id"].(string)
		if id == "" || slices.Contains(ids, id) {
			c.t.Errorf("rule id %q", id)
		}
		ids = append(ids, id)
	}
	return ids
}

func (c sarifCheck) result(v any, rules []string) (fingerprint string) {
	c.t.Helper()
	result := c.object("result", v)
	c.text(result["message"])
	c.level(result["level"])
	index, _ := result["ruleIndex"].(float64)
	if int(index) >= len(rules) || index < 0 || rules[int(index)] != result["ruleId"] {
		c.t.Errorf("rule %v is not at %v", result["ruleId"], result["ruleIndex"])
	}
	for _, l := range c.list(result["locations"]) {
		c.location(l)
	}
	prints, _ := result["partialFingerprints"].(map[string]any)
	for key, value := range prints {
		text, _ := value.(string)
		if !regexp.MustCompile(`^[A-Za-z]+/v[0-9]+$`).MatchString(key) || text == "" {
			c.t.Errorf("fingerprint %s=%v", key, value)
		}
		fingerprint = text
	}
	return fingerprint
}

// checkSARIF checks that there is one run, with all codes as rules and the given number of results.
func checkSARIF(t *testing.T, text []byte, findings int) (fingerprints []string) {
	t.Helper()
	c := sarifCheck{t}
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	log := c.object("log", raw)
	runs := c.list(log["runs"])
	if log["version"] != "2.1.0" || len(runs) != 1 {
		t.Fatalf("version %v, %d runs", log["version"], len(runs))
	}
	run := c.object("run", runs[0])
	if run["columnKind"] != "unicodeCodePoints" {
		t.Errorf("columnKind %v", run["columnKind"])
	}
	bases, _ := run["originalUriBaseIds"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		c.artifact(bases[name])
	}
	driver := c.object("driver", c.object("tool", run["tool"])["driver"])
	rules := c.rules(driver["rules"])
	if driver["name"] != "stoic" || driver["version"] != command.Version || len(rules) != len(schema.Codes()) {
		t.Errorf("driver %v %v with %d rules", driver["name"], driver["version"], len(rules))
	}
	results, ok := run["results"].([]any)
	if !ok || len(results) != findings {
		t.Errorf("%d results for %d findings", len(results), findings)
	}
	for _, result := range results {
		fingerprints = append(fingerprints, c.result(result, rules))
	}
	return fingerprints
}

// printed returns a report as SARIF.
func printed(t *testing.T, r *report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.sarif(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFingerprints: a finding keeps its fingerprint when lines are added above it or its value changes. A finding of another object has
// another fingerprint, and so has a second one of the same kind.
func TestFingerprints(t *testing.T) {
	const text = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: %s}\nspec: {runPolicy: {backoffLimit: %s}, tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: tf}]}}}}}\n"
	of := func(text string) []string {
		var r report
		r.source("job.yaml", []byte(text))
		return checkSARIF(t, printed(t, &r), len(r.Results))
	}
	a := of(fmt.Sprintf(text, "a", "x"))
	if len(a) != 1 {
		t.Fatal(a)
	}
	if moved := of("# new\n\n" + fmt.Sprintf(text, "a", "y")); !slices.Equal(moved, a) {
		t.Errorf("%v became %v", a, moved)
	}
	both := of(fmt.Sprintf(text, "a", "x") + "---\n" + fmt.Sprintf(text, "b", "x") + "---\n" + fmt.Sprintf(text, "a", "x"))
	if len(both) != 3 || both[0] != a[0] || both[1] == a[0] || both[2] == a[0] || both[2] == both[1] {
		t.Errorf("%v and %v", a, both)
	}
}

// TestArtifacts: whatever the name of a file, its URI is legal and resolves to the file.
func TestArtifacts(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	for file, want := range map[string]string{
		"job.yaml":                               "job.yaml",
		"./a/../b/job.yaml":                      "b/job.yaml",
		"a b/ü#?%.yaml":                          "a%20b/%C3%BC%23%3F%25.yaml",
		"c:job.yaml":                             "c%3Ajob.yaml",
		"<job>\n\xff.yaml":                       "%3Cjob%3E%0A%FF.yaml",
		filepath.Join(here, "job.yaml"):          "job.yaml",
		"/etc/a b.yaml":                          "file:///etc/a%20b.yaml",
		"../job.yaml":                            "file://" + filepath.ToSlash(filepath.Dir(here)) + "/job.yaml",
		"..job.yaml":                             "..job.yaml",
		filepath.Join("a", "b", "..", "c.yaml"):  "a/c.yaml",
		strings.Repeat("../", 60) + "etc/x.yaml": "file:///etc/x.yaml",
		standardInput:                            "",
	} {
		r := report{Results: []finding{{File: file, Line: 1, Column: 1, Severity: "error", Code: schema.TooLarge, Message: "m"}}}
		checkSARIF(t, printed(t, &r), 1)
		if got := artifactOf(file).URI; got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	if err := os.Remove(here); err == nil {
		if got := artifactOf("job.yaml"); got.URI != "" || got.Description == nil {
			t.Errorf("in a folder that is gone: %+v", got)
		}
	}
}
