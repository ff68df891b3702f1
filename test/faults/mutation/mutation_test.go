package mutation

import (
	"encoding/json"
	"testing"
)

func TestMutations(t *testing.T) {
	const before = `{"metadata":{"name":"f"},"spec":{"list":[{"n":1}],"text":"x"}}`
	var object map[string]any
	if err := json.Unmarshal([]byte(before), &object); err != nil {
		t.Fatal(err)
	}
	schema := &Schema{Properties: map[string]Schema{"spec": {Type: "object", Properties: map[string]Schema{"text": {Type: "string"}, "more": {Type: "integer"}}}}}
	found := map[string]Mutation{}
	all := All(object, schema)
	for _, m := range all {
		found[m.Name()] = m
	}
	for name, want := range map[string]string{
		"spec.text: the number 7":                             `{"metadata":{"name":"f"},"spec":{"list":[{"n":1}],"text":7}}`,
		"spec.text: absent":                                   `{"metadata":{"name":"f"},"spec":{"list":[{"n":1}]}}`,
		"spec.list[0].n: null":                                `{"metadata":{"name":"f"},"spec":{"list":[{"n":null}],"text":"x"}}`,
		"spec.list[0]: absent":                                `{"metadata":{"name":"f"},"spec":{"list":[],"text":"x"}}`,
		`spec.list: its name is "LIST"`:                       `{"metadata":{"name":"f"},"spec":{"LIST":[{"n":1}],"text":"x"}}`,
		"spec.more: true":                                     `{"metadata":{"name":"f"},"spec":{"list":[{"n":1}],"more":true,"text":"x"}}`,
		`metadata.labels["example.com/x"]: the text ` + `"x"`: `{"metadata":{"labels":{"example.com/x":"x"},"name":"f"},"spec":{"list":[{"n":1}],"text":"x"}}`,
	} {
		got, err := json.Marshal(found[name].Apply(object))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if !found["spec.text: the number 7"].Contradicts || found["spec.text: null"].Contradicts || found[`spec.text: the text "7"`].Contradicts {
		t.Error("values and declared types are mixed up")
	}
	if after, _ := json.Marshal(object); string(after) != before {
		t.Errorf("the object was changed: %s", after)
	}
	one := Sample(all, 40, 1)
	if len(one) != 40 || one[0].Name() == Sample(all, 40, 2)[0].Name() || one[0].Name() != Sample(all[:len(all)-1], 40, 1)[0].Name() {
		t.Error("the seed, and the name only, shall say what is drawn")
	}
}
