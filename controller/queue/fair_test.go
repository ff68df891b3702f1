package queue

import (
	"fmt"
	"strings"
	"testing"
)

func TestFair(t *testing.T) {
	f := newFair()
	for i := range 1000 {
		f.Push(fmt.Sprint("flood/", i))
	}
	f.Push("quiet/a")
	f.Push("quiet/b")
	f.Push("no-namespace")
	var order []string
	for range 6 {
		order = append(order, f.Pop())
	}
	if got := strings.Join(order, " "); got != "flood/0 quiet/a no-namespace flood/1 quiet/b flood/2" {
		t.Error(got)
	}
	for i := 3; f.Len() > 0; i++ {
		if got := f.Pop(); got != fmt.Sprint("flood/", i) {
			t.Fatalf("%s at %d", got, i)
		}
	}
	if len(f.lanes)+len(f.turns)+len(f.keys) != 0 {
		t.Errorf("left over: %v %v", f.lanes, f.turns)
	}
}

// TestFairInFolders: the lanes of a namespace of events take turns, and so do the objects of a lane.
func TestFairInFolders(t *testing.T) {
	f := newFair()
	for _, key := range []string{"a/spec/x/1", "a/spec/x/2", "a/spec/y/1", "a/spec/x/3", "a/past/z/1", "a/lifecycle/v/1", "b/spec/w/1", "/lifecycle/u/1", "c"} {
		f.Push(key)
	}
	var order []string
	for f.Len() > 0 {
		order = append(order, f.Pop())
	}
	if got := strings.Join(order, " "); got != "a/spec/x/1 b/spec/w/1 /lifecycle/u/1 c a/past/z/1 a/lifecycle/v/1 a/spec/y/1 a/spec/x/2 a/spec/x/3" {
		t.Error(got)
	}
	if len(f.lanes)+len(f.turns)+len(f.keys) != 0 {
		t.Errorf("left over: %v %v", f.lanes, f.turns)
	}
}
