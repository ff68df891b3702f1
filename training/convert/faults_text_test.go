package convert

import (
	"strings"
	"testing"

	"stoic/schema"
)

// strange are texts that break lines, terminals and encoders.
func strange() map[string]string {
	return map[string]string{
		"invalid UTF-8": "a\xff\xfeb", "a cut rune": "abc\xf0\x9f\x98", "a lone surrogate": "a\xed\xa0\x80b", "an overlong slash": "\xc0\xaf", "NUL": "a\x00b",
		"lines": "a\nb\r\nc\u2028d\u2029e\u0085f", "right to left": "\u202eevil\u202c\u2066x\u2069", "Hebrew": "שלום", "a colour": "\x1b[31mred\x1b[0m", "delete": "\x7f\x9b",
		"a tab": "a\tb", "quotes": `"\"`, "emoji": "😀", "combined": "e\u0301", "a mark": "\ufeffa", "nothing to see": "\u200b\u00a0",
		"a verb": "%s%d%!(EXTRA", "markup": "<script>&amp;`", "a path": `a.b[0]["c"]`,
	}
}

// TestFaultTexts: strange texts reach the pod where any text is legal; elsewhere they are rejected with a clean message.
func TestFaultTexts(t *testing.T) {
	for name, text := range strange() {
		free := change{inContainer + ".command": []any{"a"}, inContainer + ".args": []any{text}, inContainer + ".env": []any{map[string]any{"name": "A", "value": text}}, inTemplate + ".metadata.annotations": map[string]any{"a": text}}
		hold(t, []fault{
			{name + " where anything may stand", free, run},
			{name + " as an image", change{inContainer + ".image": "a" + text + "b"}, run},
			{name + " as a replica type", change{inReplicaSpecs: map[string]any{"Worker": replicaSpec(), text: replicaSpec()}}, reject(schema.UnknownReplicaType, path{"spec", "tfReplicaSpecs", text}.String())},
			{name + " as a container", change{inPod + ".containers[1]": sane(text)}, reject(schema.InvalidName, inPod+".containers[1].name")},
			{name + " as a volume", change{inPod + ".volumes": []any{map[string]any{"name": text}}}, reject(schema.InvalidName, inPod+".volumes[0].name")},
			{name + " as a port", change{inContainer + ".ports": []any{map[string]any{"name": text, "containerPort": int64(1)}}}, reject(schema.InvalidName, inContainer+".ports[0].name")},
			{name + " as a label", change{inTemplate + ".metadata.labels": map[string]any{"a": "x" + text}}, reject(schema.InvalidValue, inTemplate+".metadata.labels.a")},
			{name + " as a restart policy", change{inWorker + ".restartPolicy": text}, reject(schema.InvalidValue, inWorker+".restartPolicy")},
			{name + " as a cleaning policy", change{inPolicy + ".cleanPodPolicy": text}, reject(schema.InvalidValue, inPolicy+".cleanPodPolicy")},
			{name + " as a manager", change{inPolicy + ".managedBy": text}, reject(schema.InvalidValue, inPolicy+".managedBy")},
			{name + " as a success policy", change{"spec.successPolicy": text}, reject(schema.InvalidValue, "spec.successPolicy")},
			{name + " as a quantity", change{inContainer + ".resources.limits.cpu": "1" + text}, reject(schema.InvalidValue, inContainer+".resources.limits.cpu")},
			{name + " as a number", change{inWorker + ".replicas": text}, reject(schema.TypeMismatch, inWorker+".replicas")},
			{name + " as a field", change{inPod: map[string]any{"containers": []any{sane("tensorflow")}, text: "x"}}, warn(schema.UnknownField, inPod+strings.TrimPrefix(path{"x", text}.String(), "x"))},
			{name + " as a version", change{"apiVersion": text}, reject(schema.InvalidValue, "apiVersion")},
		})
	}
}

// TestFaultLabels covers labels and annotations of a template at their limits.
func TestFaultLabels(t *testing.T) {
	label := func(key, value string) change {
		return change{inTemplate + ".metadata.labels": map[string]any{key: value}}
	}
	at := func(key string) string {
		return inTemplate + ".metadata" + strings.TrimPrefix(path{"x", "labels", key}.String(), "x")
	}
	badKey := func(key string) string { return reject(schema.InvalidName, at(key)) }
	annotation := func(size int) change {
		return change{inTemplate + ".metadata.annotations": map[string]any{"a": named(size - 1)}}
	}
	hold(t, []fault{
		{"a value of 63", label("a", named(63)), run},
		{"a value of 64", label("a", named(64)), reject(schema.InvalidValue, at("a"))},
		{"an empty value", label("a", ""), run},
		{"a value with a dash at its end", label("a", "b-"), reject(schema.InvalidValue, at("a"))},
		{"a key of 63", label(named(63), "a"), run},
		{"a key of 64", label(named(64), "a"), badKey(named(64))},
		{"a domain of 253", label(strings.Repeat("a.", 126)+"a/b", "a"), run},
		{"a domain of 254", label(strings.Repeat("a.", 126)+"aa/b", "a"), badKey(strings.Repeat("a.", 126) + "aa/b")},
		{"an empty key", label("", "a"), badKey("")},
		{"an emoji", label("😀", "😀"), also(reject(schema.InvalidValue, at("😀")), schema.InvalidName, at("😀"))},
		{"a domain in capitals", label("Example.com/a", "a"), badKey("Example.com/a")},
		{"annotations of 256 KiB", annotation(256 << 10), run},
		{"annotations of a byte more", annotation(256<<10 + 1), reject(schema.TooLarge, inTemplate+".metadata.annotations")},
		{"an annotation's domain in capitals", change{inTemplate + ".metadata.annotations": map[string]any{"Example.com/a": "a"}}, run},
		{"metadata of the job", change{"metadata.labels": map[string]any{"😀": named(64)}, "metadata.annotations": map[string]any{"a": named(300 << 10)},
			"metadata.ownerReferences": []any{map[string]any{"uid": "self"}, nil}, "metadata.finalizers": []any{"x/y", int64(1)}, "metadata.managedFields": make([]any, 100)}, run},
	})
}

// TestFaultDepth: copied values may be nested 64 levels; the depth of other values is not checked.
func TestFaultDepth(t *testing.T) {
	for name, nest := range map[string]func(any) any{
		"maps":  func(v any) any { return map[string]any{"a": v} },
		"lists": func(v any) any { return []any{v} },
	} {
		for _, depth := range []int{10, depthLimit, depthLimit + 1, 1000, 10000} {
			var deep any = "end"
			for range depth {
				deep = nest(deep)
			}
			for _, place := range []string{inPod + ".future", inContainer + ".future", inContainer + ".livenessProbe.future"} {
				raw := sound(t)
				put(t, raw, place, deep)
				got := check(t, raw)
				if depth <= depthLimit {
					if want := warn(schema.UnknownField, place); outcome(got) != want {
						t.Errorf("%d %s in %s: got %s, want %s", depth, name, place, outcome(got), want)
					}
				} else if p := got.Rejection.Problems; len(p) != 1 || p[0].Code != schema.TooLarge || !under(p[0].Path, place) {
					t.Errorf("%d %s in %s: got %s, want %s", depth, name, place, outcome(got), schema.TooLarge)
				}
			}
			for _, place := range []string{"future", "metadata.labels", "metadata.future", "status.future", inTemplate + ".metadata.name", inPod + ".restartPolicy"} {
				raw := sound(t)
				put(t, raw, place, deep)
				if got := check(t, raw); got.Job == nil {
					t.Errorf("%d %s in %s: got %s, want a job", depth, name, place, outcome(got))
				}
			}
			for _, place := range []string{"apiVersion", inPolicy + ".suspend", inWorker + ".replicas", inContainer + ".image", inContainer + ".args[0]", inContainer + ".resources.limits.cpu"} {
				raw := sound(t)
				put(t, raw, place, deep)
				if got, want := outcome(check(t, raw)), reject(schema.TypeMismatch, place); got != want {
					t.Errorf("%d %s in %s: got %s, want %s", depth, name, place, got, want)
				}
			}
		}
	}
}
