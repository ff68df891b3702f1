package apply

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/schema"
)

// TestTerminating: a refused creation keeps one object, and no other, from creating for terminatingRetry; any other outcome ends that.
func TestTerminating(t *testing.T) {
	now := time.Unix(1000, 0)
	n := newTerminating(func() time.Time { return now })
	going := &writeError{"create", schema.Pods(), "a", &apierrors.StatusError{ErrStatus: terminatingStatus("ns")}}
	is := func(when string, want time.Duration) {
		t.Helper()
		if got := n.wait("u"); got != want {
			t.Errorf("%s: waits %s, want %s", when, got, want)
		}
		if got := n.wait("v"); got != 0 {
			t.Errorf("%s: another object waits %s", when, got)
		}
	}
	is("at first", 0)
	n.note("u", []error{errors.New("down"), going})
	is("refused", terminatingRetry)
	now = now.Add(time.Minute)
	is("a minute later", terminatingRetry-time.Minute)
	now = now.Add(terminatingRetry)
	is("after its time", 0)
	n.note("u", []error{going})
	n.note("u", []error{errors.New("down")})
	is("refused, and then failed for another reason", 0)
	n.note("u", []error{going})
	n.note("u", nil)
	is("refused, and then created", 0)
	if len(n.entries) > 0 {
		t.Errorf("kept: %v", n.entries)
	}
}
