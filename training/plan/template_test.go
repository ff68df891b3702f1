package plan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

func TestPodTemplate(t *testing.T) {
	one := []training.EnvVar{{Name: "A", Value: `x"<&>`}}
	two := append(one, training.EnvVar{Name: "B"})
	for name, test := range map[string]struct {
		template   string
		everywhere bool
		variables  []training.EnvVar
		want       string
	}{
		"a field of the pod": {`{"spec":{"containers":[{"name":"tensorflow"}]}}`, false, []training.EnvVar{{Name: "IP", Field: "status.podIP"}, one[0]},
			`{"containers":[{"env":[{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"A","value":"x\"<&>"}],"name":"tensorflow"}]}`},
		"no variables, no env":     {`{"spec":{"containers":[{"name":"tensorflow"}]}}`, false, nil, `{"containers":[{"name":"tensorflow"}]}`},
		"no variables, env":        {`{"spec":{"containers":[{"env":[{"name":"X"}],"name":"tensorflow"}]}}`, false, nil, `{"containers":[{"env":[{"name":"X"}],"name":"tensorflow"}]}`},
		"no variables, empty env":  {`{"spec":{"containers":[{"env":[],"name":"tensorflow"}]}}`, false, nil, `{"containers":[{"name":"tensorflow"}]}`},
		"one variable, no env":     {`{"spec":{"containers":[{"name":"tensorflow"}]}}`, false, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}],"name":"tensorflow"}]}`},
		"one variable, null env":   {`{"spec":{"containers":[{"env":null,"name":"tensorflow"}]}}`, false, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}],"name":"tensorflow"}]}`},
		"two variables behind own": {`{"spec":{"containers":[{"args":["<"],"env":[{"name":"X"}],"name":"tensorflow"}]}}`, false, two, `{"containers":[{"args":["<"],"env":[{"name":"X"},{"name":"A","value":"x\"<&>"},{"name":"B","value":""}],"name":"tensorflow"}]}`},
		"the first of its name":    {`{"spec":{"containers":[{"name":"a"},{"name":"tensorflow"},{"name":"tensorflow"}]}}`, false, one, `{"containers":[{"name":"a"},{"env":[{"name":"A","value":"x\"<&>"}],"name":"tensorflow"},{"name":"tensorflow"}]}`},
		"everywhere, not in init":  {`{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"a"},{"name":"tensorflow"}]}}`, true, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}],"name":"a"},{"env":[{"name":"A","value":"x\"<&>"}],"name":"tensorflow"}],"initContainers":[{"name":"i"}]}`},
		"a container of nothing":   {`{"spec":{"containers":[{"env":null},{}]}}`, true, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}]},{}]}`},
		"a name with escapes":      {`{"spec":{"containers":[{"name":"\u0074ensorflow"}]}}`, false, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}],"name":"\u0074ensorflow"}]}`},
		"numbers stay exact":       {`{"spec":{"x":123456789012345678901234567890.10,"containers":[]}}`, false, one, `{"containers":[],"x":123456789012345678901234567890.10}`},
		// The converter accepts none of these; they must not stop the reconcile.
		"no object":       {`[1]`, false, one, `{}`},
		"broken":          {`{`, false, one, `{}`},
		"nothing":         {``, false, one, `{}`},
		"null":            {`null`, false, one, `{}`},
		"spec no object":  {`{"spec":7}`, false, one, `{}`},
		"containers odd":  {`{"spec":{"containers":{"a":1}}}`, false, one, `{"containers":{"a":1}}`},
		"container odd":   {`{"spec":{"containers":[7,null,"x"]}}`, false, one, `{"containers":[7,null,"x"]}`},
		"env odd":         {`{"spec":{"containers":[{"env":7,"name":"tensorflow"}]}}`, false, one, `{"containers":[{"env":[{"name":"A","value":"x\"<&>"}],"name":"tensorflow"}]}`},
		"name no string":  {`{"spec":{"containers":[{"name":7}]}}`, false, one, `{"containers":[{"name":7}]}`},
		"name is a label": {`{"spec":{"containers":[{"na\"me":"tensorflow"}]}}`, false, one, `{"containers":[{"na\"me":"tensorflow"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			newPodTemplate([]byte(test.template), additions{container: "tensorflow", everywhere: test.everywhere}).pour(&b, "", test.variables, &jsonStrings{})
			if diff := gocmp.Diff(test.want, b.String()); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(b.Bytes()) {
				t.Error("no JSON")
			}
		})
	}
}

func TestPodTemplateMetadata(t *testing.T) {
	m := newPodTemplate([]byte(`{"metadata":{"labels":null,"annotations":null,"finalizers":["a/b"],"uid":"x"}}`), additions{container: "c"})
	if len(m.labels) != 0 || m.labels == nil || m.annotations != nil || string(m.finalizers) != `["a/b"]` {
		t.Errorf("got %+v", m)
	}
	if got := string(schema.JSON(make(chan int))); got != "null" {
		t.Errorf("what cannot be written is %s", got)
	}
}

// TestPodTemplateVariables: each variable occurs once, with the value of whoever wins.
func TestPodTemplateVariables(t *testing.T) {
	rank := training.EnvVar{Name: "RANK", Value: "1"}
	size := training.EnvVar{Name: "SIZE", Value: "2"}
	preference := training.EnvVar{Name: "LOG", Value: "3", UserWins: true}
	all := []training.EnvVar{preference, rank, size}
	for name, test := range map[string]struct {
		variables []training.EnvVar
		env       []string // of one container, "NAME=value"
		want      []string
	}{
		"none of them set":                  {all, []string{"A=a"}, []string{"A=a", "LOG=3", "RANK=1", "SIZE=2"}},
		"a preference is set":               {all, []string{"LOG=mine", "A=a"}, []string{"LOG=mine", "A=a", "RANK=1", "SIZE=2"}},
		"only a preference, which is set":   {all[:1], []string{"LOG=mine"}, []string{"LOG=mine"}},
		"one of the rendezvous is set":      {all, []string{"A=a", "SIZE=mine", "B=$(SIZE)"}, []string{"A=a", "LOG=3", "RANK=1", "SIZE=2", "B=$(SIZE)"}},
		"it comes first":                    {all, []string{"RANK=mine", "B=$(RANK)"}, []string{"LOG=3", "RANK=1", "SIZE=2", "B=$(RANK)"}},
		"only it":                           {all, []string{"RANK=mine"}, []string{"LOG=3", "RANK=1", "SIZE=2"}},
		"it comes twice":                    {all, []string{"RANK=a", "A=a", "RANK=b"}, []string{"LOG=3", "RANK=1", "SIZE=2", "A=a"}},
		"all of them":                       {all, []string{"SIZE=a", "LOG=mine", "RANK=b"}, []string{"RANK=1", "SIZE=2", "LOG=mine"}},
		"nothing is added":                  {nil, []string{"RANK=mine"}, []string{"RANK=mine"}},
		"another container has set nothing": {all, nil, []string{"LOG=3", "RANK=1", "SIZE=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := make([]map[string]string, len(test.env))
			for i := range env {
				env[i] = map[string]string{}
				env[i]["name"], env[i]["value"], _ = strings.Cut(test.env[i], "=")
			}
			template := schema.JSON(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"env": env, "name": "a"}, map[string]any{"name": "b"}}}})
			var b bytes.Buffer
			newPodTemplate(template, additions{everywhere: true, variables: test.variables}).pour(&b, "", test.variables, &jsonStrings{})
			var pod corev1.PodSpec
			if err := json.Unmarshal(b.Bytes(), &pod); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range pod.Containers[0].Env {
				got = append(got, v.Name+"="+v.Value)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n := len(pod.Containers[1].Env); n != len(test.variables) {
				t.Errorf("the other container has %d variables", n)
			}
		})
	}
}

// Additions of a kind are appended to what the user wrote, except where the name is already in use.
func TestAdditions(t *testing.T) {
	raws := func(texts ...string) (all []json.RawMessage) {
		for _, text := range texts {
			all = append(all, json.RawMessage(text))
		}
		return all
	}
	with := additions{container: "main", PodAdditions: training.PodAdditions{
		Volumes:   raws(`{"name":"a","emptyDir":{}}`, `{"name":"b"}`),
		Mounts:    raws(`{"name":"a","mountPath":"/a"}`, `{"name":"b","mountPath":"/b"}`),
		Container: map[string]json.RawMessage{"command": json.RawMessage(`["sleep"]`)},
		Spec:      map[string]json.RawMessage{"subdomain": json.RawMessage(`"j"`)},
		Hostname:  true,
	}}
	first := with
	first.first = true
	for _, c := range []struct {
		template string
		with     additions
		want     string
	}{
		{`{"spec":{"containers":[{"name":"main"}]}}`, with,
			`{"containers":[{"env":[{"name":"A","value":"1"}],"command":["sleep"],"name":"main","volumeMounts":[{"name":"a","mountPath":"/a"},{"name":"b","mountPath":"/b"}]}],` +
				`"hostname":"j-worker-0","subdomain":"j","volumes":[{"name":"a","emptyDir":{}},{"name":"b"}]}`},
		{`{"spec":{"hostname":"x","volumes":[{"name":"b","hostPath":{}}],"containers":[{"name":"side"},{"name":"main","command":["x"],"volumeMounts":[{"name":"c","mountPath":"/a"}]}]}}`, with,
			`{"containers":[{"name":"side"},{"env":[{"name":"A","value":"1"}],"command":["sleep"],"name":"main","volumeMounts":[{"name":"c","mountPath":"/a"},{"name":"b","mountPath":"/b"}]}],` +
				`"hostname":"j-worker-0","subdomain":"j","volumes":[{"name":"b","hostPath":{}},{"name":"a","emptyDir":{}}]}`},
		{`{"spec":{"containers":[{"name":"side"},{"name":"main"}]}}`, first,
			`{"containers":[{"env":[{"name":"A","value":"1"}],"command":["sleep"],"name":"side","volumeMounts":[{"name":"a","mountPath":"/a"},{"name":"b","mountPath":"/b"}]},{"name":"main"}],` +
				`"hostname":"j-worker-0","subdomain":"j","volumes":[{"name":"a","emptyDir":{}},{"name":"b"}]}`},
	} {
		var b bytes.Buffer
		newPodTemplate([]byte(c.template), c.with).pour(&b, "j-worker-0", []training.EnvVar{{Name: "A", Value: "1"}}, &jsonStrings{})
		if diff := gocmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.template, diff)
		}
	}
}
