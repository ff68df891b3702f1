package malformed

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"stoic/test/faults/mutation"
	"stoic/test/faults/scenario"
)

// fooBars returns a kind with simple objects.
func fooBars(t *testing.T) *kind {
	t.Helper()
	var foobar []*scenario.Operator
	for _, o := range scenario.Operators() {
		if o.Name == "foobar" {
			foobar = append(foobar, o)
		}
	}
	all, err := kindsOf("../../..", foobar)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d kinds, %v", len(all), err)
	}
	k := all[0]
	k.healthy = []healthy{{status: map[string]any{"target": "a"}}, {}}
	if err := k.mutate(scenario.Places{Namespace: "here", Elsewhere: "there"}); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSchemas: every kind of every operator has a shipped CRD, and one that accepts anything.
func TestSchemas(t *testing.T) {
	all, err := kindsOf("../../..", scenario.Operators())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, k := range all {
		if names[k.name] || k.shipped == nil || len(k.shipped.Properties["spec"].Properties) == 0 || k.strict == nil || k.open == nil {
			t.Errorf("%s lacks something", k.name)
		}
		names[k.name] = true
		if !Is(k.Operator, k.name) || Is(k.Operator, "nobodies") {
			t.Errorf("%s is not found", k.name)
		}
	}
	if !names["tfjobs"] || !names["mpijobs"] || !names["mpijobs.v2beta1"] || !names["clusterfoobars"] {
		t.Errorf("kinds %v", names)
	}
}

// TestBodies: what is stored, in each way.
func TestBodies(t *testing.T) {
	k := fooBars(t)
	made := func(name string, w way) *object {
		i := slices.IndexFunc(k.all, func(c choice) bool { return c.Name() == name })
		if i < 0 {
			t.Fatalf("there is no %s", name)
		}
		o, err := newObject(k, k.all[i], w, scenario.Places{Namespace: "here", Elsewhere: "there"}, "m1")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	now := map[string]any{"metadata": map[string]any{"resourceVersion": "7", "uid": "u", "finalizers": []any{"theirs"}}}
	for name, test := range map[string]struct {
		way           way
		created, then string // parts of the bodies
	}{
		"spec.target: the number 7":                            {before, `"target":7`, ``},
		"spec.target: absent":                                  {edited, `"target":"m1-a"`, `"spec":{}`},
		"object 2, spec.target: absent":                        {edited, `"targetNamespace":"there"`, `"spec":{"targetNamespace":"there"}`},
		"spec.target: a text that is no UTF-8":                 {before, "\"a\xff\"", ``},
		"spec.target: a number beyond all floats":              {beside, `"target":1e400`, ``},
		"metadata.ownerReferences: an owner":                   {before, `"uid":"by"`, ``},
		"metadata.finalizers: [example.com/hold]":              {edited, `"name":"m1"`, `"finalizers":["theirs","example.com/hold"],"name":"m1"`},
		"status.target: the number 7":                          {before, `"spec":{"target":"m1-a"}`, ``},
		`metadata.labels["example.com/x"]: the text "\u202ex"`: {edited, `"metadata":{"name":"m1","namespace":"here"}`, `"example.com/x":"` + "\u202e" + `x"`},
	} {
		o := made(name, test.way)
		if got := string(o.created("by")); !strings.Contains(got, test.created) || strings.Contains(got, `"status"`) {
			t.Errorf("%s is created as %s", name, got)
		}
		if got := string(o.updated(o.spoiled, now, "by")); !strings.Contains(got, test.then) || !strings.Contains(got, `"resourceVersion":"7"`) || !strings.Contains(got, `"theirs"`) || strings.Contains(got, `"status"`) {
			t.Errorf("%s is updated as %s", name, got)
		}
	}
	if o := made("metadata.name: it begins with 7.", edited); o.way != beside || o.id() != "7.probe" {
		t.Errorf("a name comes %v, as %s", o.way, o.id())
	}
}

// TestWrite: the result equals the library's, for values that the library can write.
func TestWrite(t *testing.T) {
	v := map[string]any{"b": []any{nil, true, int64(1) << 62, 1.5, "a\u2028<é\x00", map[string]any{}}, "a\"": "x"}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(body(v, "")); got != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDraw: a seed draws the same mutations of each valid object in turn; unwanted ones are not drawn.
func TestDraw(t *testing.T) {
	k := fooBars(t)
	names := func(o Options) (names []string) {
		for _, c := range (&plane{Options: o}).draw(k) {
			names = append(names, c.Name())
		}
		return names
	}
	one := names(Options{Seed: 1, Most: 40})
	if !slices.Equal(one, names(Options{Seed: 1, Most: 40})) || slices.Equal(one, names(Options{Seed: 2, Most: 40})) || len(one) < 80 {
		t.Errorf("a seed draws %d", len(one))
	}
	if !strings.HasPrefix(one[1], "object 2, ") || strings.HasPrefix(one[2], "object 2, ") {
		t.Errorf("in turn: %q", one[:3])
	}
	const name = "spec.target: the number 7"
	if only := names(Options{Most: 1, Wanted: func(kind, n string) bool { return kind == "foobars" && n == name }}); !slices.Equal(only, []string{name}) {
		t.Errorf("one by its name: %q", only)
	}
	if all := interleaved([]choice{{0, mutation.None()}, {0, mutation.None()}, {1, mutation.None()}}, 2); all[0].base != 0 || all[1].base != 1 || all[2].base != 0 {
		t.Errorf("interleaved: %v", all)
	}
}

// TestListening: the process of a sandbox serves no metrics and no probes; this one does.
func TestListening(t *testing.T) {
	got := listening([]string{"x", "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--other", "0"})
	if want := []string{"x", "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}", "--other", "0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if theirs := []string{"x", "--metrics-bind-address", "{metrics}"}; !slices.Equal(listening(theirs), theirs) {
		t.Errorf("another's: %q", listening(theirs))
	}
}

// TestReplicas: a number of replicas that the converter accepts is tried up to a thousand; one that it rejects is tried whatever its size.
func TestReplicas(t *testing.T) {
	all, err := kindsOf("../../..", scenario.Operators())
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, k := range all {
		if !slices.Contains([]string{"crontabs", "foobars", "foobarsets", "mydeployments"}, k.name) {
			continue // there are 300,000 mutations of all kinds
		}
		k.healthy = make([]healthy, len(k.Valid))
		if err := k.mutate(scenario.Places{Namespace: "here", Elsewhere: "there"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range k.all {
			if c.Path.String() == k.scale {
				tried[k.name+" "+c.What] = true
			}
		}
	}
	for name, want := range map[string]bool{
		"mydeployments the number 7": true, "mydeployments the number 65536": false, "mydeployments the number 10000000000": true, `mydeployments the text "x"`: true,
		"crontabs the number 65536": false, "foobarsets the number 65536": true, "foobars the number 65536": false,
	} {
		if tried[name] != want {
			t.Errorf("%s is tried: %v, want %v", name, !want, want)
		}
	}
}
