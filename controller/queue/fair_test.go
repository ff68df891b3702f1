package queue

import (
	"fmt"
	"strings"
	"testing"
)

func TestFair(t *testing.T) {
	f := newFair(KeyIsPath)
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

// Of events the lanes of a namespace take turns, and the objects of a lane.
func TestFairInFolders(t *testing.T) {
	f := newFair(KeyIsPath)
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

// What has begun goes before what has not, which is still not starved; of another namespace it takes nothing.
func TestFairPriority(t *testing.T) {
	f := newFair(func(key string) string { return strings.Replace(key, "/old", "/"+Priority+"/old", 1) })
	for i := range 20 {
		f.Push(fmt.Sprint("a/new", i))
	}
	for i := range 20 {
		f.Push(fmt.Sprint("a/old", i))
	}
	var order []string
	for range 22 {
		order = append(order, strings.TrimPrefix(f.Pop(), "a/"))
	}
	want := "new0 old0 old1 old2 old3 old4 old5 old6 old7 new1 old8 old9 old10 old11 old12 old13 old14 old15 new2 old16 old17 old18"
	if got := strings.Join(order, " "); got != want {
		t.Error(got)
	}
	f.Push("b/new0")
	f.Push("b/new1")
	if got := strings.Join([]string{f.Pop(), f.Pop(), f.Pop(), f.Pop()}, " "); got != "a/old19 b/new0 a/new3 b/new1" {
		t.Error(got)
	}
	for f.Len() > 0 {
		f.Pop()
	}
	if len(f.lanes)+len(f.turns)+len(f.keys)+f.row != 0 {
		t.Errorf("left over: %v %v %d", f.lanes, f.turns, f.row)
	}
}
