package convert

import (
	"reflect"
	"strings"
	"testing"
)

// TestHide: no message repeats values in or below a hidden field, even if the shape of the field was replaced.
func TestHide(t *testing.T) {
	type inner struct {
		Text string `json:"text"`
	}
	type outer struct {
		Options inner          `json:"options"`
		Free    map[string]any `json:"free"`
		Shown   inner          `json:"shown"`
	}
	for name, change := range map[string]func(*Shape){
		"as it is": func(*Shape) {},
		"kept":     func(s *Shape) { s.Keep("options"); s.Keep("free") },
		"useless":  func(s *Shape) { s.Set("options", Useless("it is ignored")); s.Set("free", Useless("it is ignored")) },
	} {
		shape := NewShapes(Hide[outer]("options", "free")).Of(reflect.TypeFor[outer]()).Clone()
		change(shape)
		raw := map[string]any{"options": int64(8714502), "free": int64(8714502), "shown": int64(42)}
		r := NewReader()
		r.Walk(shape, raw, reflect.Value{})
		r.EnterField(shape, raw, "options")
		r.NotAnObject(raw["options"])
		r.Leave()
		var all strings.Builder
		for _, p := range append(r.Problems(), r.Warnings()...) {
			all.WriteString(p.String() + "\n")
		}
		if text := all.String(); strings.Contains(text, "8714502") || strings.Count(text, "(not shown)") < 2 || !strings.Contains(text, "42") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
