package controller

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A job whose name fits no label has no children, and the way around a lost watch must not end in an error for it.
func TestLiveReadOfALongName(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	s.refuse = func(verb, resource, name string) *refusing {
		return &refusing{http.StatusBadRequest, metav1.StatusReasonBadRequest, "unable to parse requirement"}
	}
	if pods, services, err := c.children.live(t.Context(), "ns", strings.Repeat("n", 64), "u"); err != nil || len(pods)+len(services) > 0 {
		t.Errorf("%v %v %v", pods, services, err)
	}
}
