package convert

import (
	"encoding/json"
	"strings"
	"testing"

	"stoic/schema"
)

// marker is a secret that no message may repeat. No seed of the fuzzer has it: there, a name that gives it away may be spoilt.
const marker = "xyzzy-7294"

// TestFaultSecrets: the value of a variable whose name tells that it is a secret is in no message, however wrong it is
// and wherever its author has put it by mistake.
func TestFaultSecrets(t *testing.T) {
	env := func(items ...any) change { return change{inContainer + ".env": items} }
	inEnv := inContainer + ".env[0]"
	for _, f := range []struct {
		name string
		put  change
		want string
	}{
		{"a value", env(map[string]any{"name": "API_TOKEN", "value": marker}), run},
		{"a number", env(map[string]any{"name": "API_TOKEN", "value": json.Number("8714502")}), reject(schema.TypeMismatch, inEnv+".value")},
		{"beside a reference", env(map[string]any{"name": "PASSWORD", "value": marker, "valueFrom": map[string]any{}}),
			also(reject(schema.Conflict, inEnv+".valueFrom"), schema.MissingField, inEnv+".valueFrom")},
		{"as a key", env(map[string]any{"name": "PASSWORD", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "a", "key": marker + " "}}}),
			reject(schema.InvalidName, inEnv+".valueFrom.secretKeyRef.key")},

		{"an object", env(map[string]any{"name": "KEY", "value": map[string]any{marker: marker}}), reject(schema.TypeMismatch, inEnv+".value")},
		{"as the reference", env(map[string]any{"name": "API_TOKEN", "valueFrom": marker}), reject(schema.TypeMismatch, inEnv+".valueFrom")},
		{"as the reference's source", env(map[string]any{"name": "API_TOKEN", "valueFrom": map[string]any{"secretKeyRef": marker}}),
			reject(schema.TypeMismatch, inEnv+".valueFrom.secretKeyRef")},
		{"in the name", env(map[string]any{"name": "API_TOKEN=" + marker}), reject(schema.InvalidName, inEnv+".name")},
		{"as a text", env("API_TOKEN=" + marker), reject(schema.TypeMismatch, inEnv)},
		{"as the whole", change{inContainer + ".env": "API_TOKEN=" + marker}, reject(schema.TypeMismatch, inContainer+".env")},
		{"a map", change{inContainer + ".env": map[string]any{"API_TOKEN": marker}}, reject(schema.TypeMismatch, inContainer+".env")},
		{"a number under a name in the wrong case", env(map[string]any{"Name": "API_TOKEN", "value": json.Number("8714502")}),
			also(reject(schema.MissingField, inEnv+".name"), schema.TypeMismatch, inEnv+".value") + "\nwarning UnknownField " + inEnv + ".Name"},
		{"a misspelt field", env(map[string]any{"name": "API_TOKEN", "vlaue": marker}), warn(schema.UnknownField, inEnv+".vlaue")},
		{"a header", change{inContainer + ".livenessProbe.httpGet.port": "web", inContainer + ".livenessProbe.httpGet.httpHeaders": []any{map[string]any{"name": "X-Api-Key", "value": json.Number("8714502")}}},
			reject(schema.TypeMismatch, inContainer+".livenessProbe.httpGet.httpHeaders[0].value")},
		{"an init container", change{inPod + ".initContainers": []any{map[string]any{"name": "a", "image": "a",
			"env": []any{map[string]any{"name": "DB_PASSWORD", "value": json.Number("8714502")}}}}}, reject(schema.TypeMismatch, inPod+".initContainers[0].env[0].value")},
		{"an argument", change{inContainer + ".args": map[string]any{"--token": marker}}, reject(schema.TypeMismatch, inContainer+".args")},
		{"all arguments", change{inContainer + ".args": "--token=" + marker}, reject(schema.TypeMismatch, inContainer+".args")},
	} {
		t.Run(f.name, func(t *testing.T) {
			raw := sound(t)
			apply(t, raw, f.put)
			got := check(t, raw)
			if got := outcome(got); got != f.want {
				t.Errorf("got %s\nwant %s", got, f.want)
			}
			if text := told(got); strings.Contains(text, marker) || strings.Contains(text, "8714502") {
				t.Errorf("the secret is told: %s", text)
			}
		})
	}
}

// told is every word that was told of an object.
func told(r *Result) string {
	var b strings.Builder
	problems := r.Warnings
	if r.Rejection != nil {
		problems = append(problems[:len(problems):len(problems)], r.Rejection.Problems...)
	}
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
