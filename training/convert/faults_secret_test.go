package convert

import (
	"encoding/json"
	"strings"
	"testing"

	"stoic/schema"
)

// A text and a number that no message may contain. No seed of the fuzzer has them.
const (
	marker       = "xyzzy-7294"
	markerNumber = "8714502"
)

// TestFaultSecrets: no message contains the value of an environment variable, whatever its name, however malformed it is and
// wherever below env it is. The same holds for other fields that often contain credentials.
func TestFaultSecrets(t *testing.T) {
	env := func(items ...any) change { return change{inContainer + ".env": items} }
	inEnv := inContainer + ".env[0]"
	for _, f := range []struct {
		name string
		put  change
		want string
	}{
		{"whatever its name", env(map[string]any{"name": "DB_PASS", "value": json.Number(markerNumber)}), reject(schema.TypeMismatch, inEnv+".value")},
		{"a boolean whatever its name", env(map[string]any{"name": "A", "value": true}), reject(schema.TypeMismatch, inEnv+".value")},
		{"a list", env(map[string]any{"name": "A", "value": []any{marker, json.Number(markerNumber)}}), reject(schema.TypeMismatch, inEnv+".value")},
		{"a reference, corrected", env(map[string]any{"name": "A", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "Xyzzy_7294", "key": "a"}}}),
			reject(schema.InvalidName, inEnv+".valueFrom.secretKeyRef.name")},
		{"a divisor", env(map[string]any{"name": "A", "valueFrom": map[string]any{"resourceFieldRef": map[string]any{"resource": "limits.cpu", "divisor": markerNumber + "gb"}}}),
			reject(schema.InvalidValue, inEnv+".valueFrom.resourceFieldRef.divisor")},
		{"the name of a variable", env(map[string]any{"name": json.Number(markerNumber), "value": "a"}), reject(schema.TypeMismatch, inEnv+".name")},
		{"an ephemeral container", change{inPod + ".ephemeralContainers": []any{map[string]any{"name": "a", "image": "a",
			"env": []any{map[string]any{"name": "A", "value": json.Number(markerNumber)}}}}},
			also(reject(schema.InvalidValue, inPod+".ephemeralContainers"), schema.TypeMismatch, inPod+".ephemeralContainers[0].env[0].value")},
		{"a reference to all keys", change{inContainer + ".envFrom": []any{"DB_PASS=" + marker}}, reject(schema.TypeMismatch, inContainer+".envFrom[0]")},
		{"an annotation", change{inTemplate + ".metadata.annotations": map[string]any{"db-pass": json.Number(markerNumber)}},
			reject(schema.TypeMismatch, inTemplate+`.metadata.annotations.db-pass`)},
		{"an attribute of a volume", change{inPod + ".volumes": []any{map[string]any{"name": "a", "csi": map[string]any{"driver": "a",
			"volumeAttributes": map[string]any{"pass": json.Number(markerNumber)}}}}}, reject(schema.TypeMismatch, inPod+".volumes[0].csi.volumeAttributes.pass")},
		{"an option of a volume", change{inPod + ".volumes": []any{map[string]any{"name": "a", "flexVolume": map[string]any{"driver": "a",
			"options": map[string]any{"pass": json.Number(markerNumber)}}}}}, reject(schema.TypeMismatch, inPod+".volumes[0].flexVolume.options.pass")},
		{"an argument behind its flag", change{inContainer + ".args": []any{"--db-pass", json.Number(markerNumber)}}, reject(schema.TypeMismatch, inContainer+".args[1]")},
		{"a word of a command behind its flag", change{inContainer + ".command": []any{"train", "-token", json.Number(markerNumber)}}, reject(schema.TypeMismatch, inContainer+".command[2]")},
		{"a header whatever its name", change{inContainer + ".livenessProbe.httpGet.port": "web", inContainer + ".livenessProbe.httpGet.httpHeaders": []any{map[string]any{"name": "A", "value": json.Number(markerNumber)}}},
			reject(schema.TypeMismatch, inContainer+".livenessProbe.httpGet.httpHeaders[0].value")},

		{"beside a reference", env(map[string]any{"name": "PASSWORD", "value": marker, "valueFrom": map[string]any{}}),
			also(reject(schema.Conflict, inEnv+".valueFrom"), schema.MissingField, inEnv+".valueFrom")},
		{"as a key", env(map[string]any{"name": "PASSWORD", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "a", "key": marker + " "}}}),
			reject(schema.InvalidName, inEnv+".valueFrom.secretKeyRef.key")},

		{"in the name", env(map[string]any{"name": "API_TOKEN=" + marker}), reject(schema.InvalidName, inEnv+".name")},
		{"as the whole", change{inContainer + ".env": "API_TOKEN=" + marker}, reject(schema.TypeMismatch, inContainer+".env")},
		{"a map", change{inContainer + ".env": map[string]any{"API_TOKEN": marker}}, reject(schema.TypeMismatch, inContainer+".env")},
		{"a number under a name in the wrong case", env(map[string]any{"Name": "API_TOKEN", "value": json.Number(markerNumber)}),
			also(reject(schema.MissingField, inEnv+".name"), schema.TypeMismatch, inEnv+".value") + "\nwarning UnknownField " + inEnv + ".Name"},
		{"a misspelt field", env(map[string]any{"name": "API_TOKEN", "vlaue": marker}), warn(schema.UnknownField, inEnv+".vlaue")},
		{"all arguments", change{inContainer + ".args": "--token=" + marker}, reject(schema.TypeMismatch, inContainer+".args")},
	} {
		t.Run(f.name, func(t *testing.T) {
			raw := sound(t)
			apply(t, raw, f.put)
			got := check(t, raw)
			if got := outcome(got); got != f.want {
				t.Errorf("got %s\nwant %s", got, f.want)
			}
			if text := strings.ReplaceAll(reported(got), "_", "-"); strings.Contains(strings.ToLower(text), marker) || strings.Contains(text, markerNumber) {
				t.Errorf("the secret is told: %s", text)
			}
		})
	}
}

// TestShown: messages contain values that are no credentials, so that the user finds them.
func TestShown(t *testing.T) {
	for _, f := range []struct {
		name  string
		put   change
		shown string
	}{
		{"an argument", change{inContainer + ".args": []any{"--steps", json.Number(markerNumber)}}, `found number 8714502, must be a string; quote it: "8714502"`},
		{"the first argument", change{inContainer + ".args": []any{json.Number(markerNumber)}}, `found number 8714502, must be a string; quote it: "8714502"`},
		{"all arguments", change{inContainer + ".args": "--steps 3"}, `found string "--steps 3", must be a list`},
		{"a label named env", change{inTemplate + ".metadata.labels": map[string]any{"env": json.Number(markerNumber)}}, `found number 8714502, must be a string; quote it: "8714502"`},
		{"the name of a variable", change{inContainer + ".env": []any{map[string]any{"name": "é"}}}, `env[0].name: found "é"`},
	} {
		t.Run(f.name, func(t *testing.T) {
			raw := sound(t)
			apply(t, raw, f.put)
			if text := reported(check(t, raw)); !strings.Contains(text, f.shown) {
				t.Errorf("got %s\nwant %s", text, f.shown)
			}
		})
	}
}

// reported returns all texts that were reported about an object.
func reported(r *Result) string {
	var b strings.Builder
	for _, p := range problemsOf(r) {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
