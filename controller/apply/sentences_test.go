package apply

import (
	"strings"
	"testing"

	"stoic/schema"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"a", "a"},
		{"a-0", "a-0"},
		{"a-1 a-0", "a-0..1"},
		{"a-worker-2 a-ps-0 a-worker-0 a-worker-1", "a-ps-0, a-worker-0..2"},
		{"a-0 a-2 a-3 a-5", "a-0, a-2..3, a-5"},
		{"a-9 a-10 a-11", "a-9..11"},
		{"a--1 a-x a-", "a-, a--1, a-x"},
		{"a-99999999999999999999", "a-99999999999999999999"},
	} {
		if got := ranges(strings.Fields(c.names)); got != c.want {
			t.Errorf("ranges(%s) = %s, want %s", c.names, got, c.want)
		}
	}
}

func TestListedIsOneEventAResource(t *testing.T) {
	a := newTestApplier(t, newAPIServer(t), nil)
	got := a.listed("Created", map[schema.Resource][]string{schema.Services(): {"a-0", "a-1"}, schema.Pods(): {"a-0"}})
	if len(got) != 2 || got[0].Message != "Created pod: a-0" || got[0].Reason != "PodsCreated" ||
		got[1].Message != "Created services: a-0..1" || got[1].Reason != "ServicesCreated" {
		t.Errorf("%+v", got)
	}
	deleted := a.listed("Deleted", map[schema.Resource][]string{widgets(): {"a"}})
	if len(deleted) != 1 || deleted[0].Message != "Deleted widget: a" || deleted[0].Reason != "WidgetDeleted" {
		t.Errorf("%+v", deleted)
	}
	// A resource without a reason for it gets no event.
	if got := a.listed("Created", map[schema.Resource][]string{widgets(): {"a"}, {Plural: "nodes"}: {"n"}}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
