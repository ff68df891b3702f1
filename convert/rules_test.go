package convert

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestRules: each rule is about fields of its type, and about a type that is in a pod template.
func TestRules(t *testing.T) {
	whole := shapeOf(reflect.TypeFor[corev1.PodTemplateSpec]())
	used := map[reflect.Type]bool{}
	var walk func(*Shape)
	seen := map[*Shape]bool{}
	walk = func(s *Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for _, key := range append(slices.Concat(s.oneOf...), s.needs...) {
			if s.fields[key] == nil {
				t.Errorf("a rule about %s, which is not among %v", key, s.names)
			}
		}
		walk(s.elem)
		for _, f := range s.fields {
			walk(f.shape)
		}
	}
	walk(whole)
	for _, rule := range ofKubernetes() {
		before := shapeOf(rule.on)
		used[rule.on] = true
		if before.form != object && before.form != text {
			t.Errorf("a rule on %s", rule.on)
		}
	}
	if len(used) < 60 {
		t.Errorf("rules on %d types", len(used))
	}
}
