package controller

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestListening(t *testing.T) {
	from := watch.NewFakeWithChanSize(3, false)
	told := make(chan error, 1)
	l := listen(from, func(err error) { told <- err })
	expired := apierrors.NewResourceExpired("too old resource version")
	from.Add(&metav1.PartialObjectMetadata{})
	from.Error(&expired.ErrStatus)
	from.Add(&metav1.PartialObjectMetadata{}) // which nobody reads: nothing may hang on to it
	for _, want := range []watch.EventType{watch.Added, watch.Error} {
		if got := <-l.ResultChan(); got.Type != want {
			t.Errorf("passed %s on, want %s", got.Type, want)
		}
	}
	if err := <-told; !apierrors.IsResourceExpired(err) {
		t.Errorf("told %v", err)
	}
	l.Stop()
	l.Stop()
	eventually(t, "the end of what it passes on", func() bool {
		select {
		case _, open := <-l.ResultChan():
			return !open
		default:
			return false
		}
	})
	if !from.IsStopped() {
		t.Error("what it listened to goes on")
	}
}
