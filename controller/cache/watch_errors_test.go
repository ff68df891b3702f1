package cache

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestReportErrors(t *testing.T) {
	from := watch.NewFakeWithChanSize(3, false)
	reported := make(chan error, 1)
	w := reportErrors(from, func(err error) { reported <- err })
	expired := apierrors.NewResourceExpired("too old resource version")
	from.Add(&metav1.PartialObjectMetadata{})
	from.Error(&expired.ErrStatus)
	from.Add(&metav1.PartialObjectMetadata{}) // it is not read: nothing may wait for that
	for _, want := range []watch.EventType{watch.Added, watch.Error} {
		if got := <-w.ResultChan(); got.Type != want {
			t.Errorf("an event of type %s, want %s", got.Type, want)
		}
	}
	if err := <-reported; !apierrors.IsResourceExpired(err) {
		t.Errorf("reported %v", err)
	}
	w.Stop()
	w.Stop()
	eventually(t, "the end of the events", func() bool {
		select {
		case _, open := <-w.ResultChan():
			return !open
		default:
			return false
		}
	})
	if !from.IsStopped() {
		t.Error("the decorated watch was not stopped")
	}
}
