package controller

import (
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSmallJobIsMadeAtOnce: all objects of a job of five replicas are requested before the first answer arrives.
func TestSmallJobIsMadeAtOnce(t *testing.T) {
	s := newAPIServer(t)
	const objects = 10
	var asked atomic.Int32
	all := make(chan struct{})
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && (resource == "pods" || resource == "services") {
			if asked.Add(1) == objects {
				close(all)
			}
			select {
			case <-all:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	s.put(job("a", objects/2, `{}`))
	start(t, newTestController(t, s, nil))
	eventually(t, "all objects to be asked for before any is there", func() bool { return asked.Load() == objects })
}

// TestRefusedSmallJobIsTriedWithOne: a small job that may have no pods costs one batch of refused requests, and then one request for each
// try. A large job costs one request per try from the beginning: TestQuotaCostsOneRequestAReconcile.
func TestRefusedSmallJobIsTriedWithOne(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && (resource == "pods" || resource == "services") {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: small"}
		}
		return nil
	}
	const objects = 16
	s.put(job("a", objects/2, `{}`))
	start(t, newTestController(t, s, nil))
	posts := func() int { return s.count("POST pods") + s.count("POST services") }
	eventually(t, "the first try", func() bool { return posts() >= objects })
	eventually(t, "three more tries", func() bool { return posts() >= objects+3 })
	if n := posts(); n > objects+6 {
		t.Errorf("%d requests after a few tries, want %d and one a try", n, objects)
	}
}
