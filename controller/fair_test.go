package controller

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
	f.Push("calm/a")
	f.Push("calm/b")
	f.Push("no-namespace")
	var order []string
	for range 6 {
		order = append(order, f.Pop())
	}
	if got := strings.Join(order, " "); got != "flood/0 calm/a no-namespace flood/1 calm/b flood/2" {
		t.Error(got)
	}
	for i := 3; f.Len() > 0; i++ {
		if got := f.Pop(); got != fmt.Sprint("flood/", i) {
			t.Fatalf("%s at %d", got, i)
		}
	}
	if len(f.lanes)+len(f.turns) != 0 {
		t.Errorf("left over: %v %v", f.lanes, f.turns)
	}
}
