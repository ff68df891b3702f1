package training

import (
	"slices"
	"strings"
	"testing"

	"stoic/test/source"
)

func TestNoticesListsAllReasons(t *testing.T) {
	declared := source.Constants(t, "reason.go", func(name, _ string) bool { return strings.HasPrefix(name, "Reason") })
	var listed []string
	for _, n := range Notices() {
		listed = append(listed, n.Reason)
		if n.Where == "" || n.When == "" || !slices.Contains(declared, n.Reason) {
			t.Errorf("%+v", n)
		}
	}
	for _, reason := range declared {
		if !slices.Contains(listed, reason) {
			t.Errorf("nothing says when %s is given", reason)
		}
	}
}
