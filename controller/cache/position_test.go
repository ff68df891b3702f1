package cache

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

func TestResumeWatch(t *testing.T) {
	yes, down := true, errors.New("down")
	for name, c := range map[string]struct {
		options  metav1.ListOptions
		position string
		fails    error // the list
		refuses  error // the watch
		asked    int
		watched  bool
		gone     bool
	}{
		"from nothing":                {options: metav1.ListOptions{}, watched: true},
		"from anything":               {options: metav1.ListOptions{ResourceVersion: "0"}, watched: true},
		"with initial events":         {options: metav1.ListOptions{ResourceVersion: "9", SendInitialEvents: &yes}, watched: true},
		"from the past":               {options: metav1.ListOptions{ResourceVersion: "9"}, position: "10", asked: 1, watched: true},
		"from now":                    {options: metav1.ListOptions{ResourceVersion: "10"}, position: "10", asked: 1, watched: true},
		"from the future":             {options: metav1.ListOptions{ResourceVersion: "11"}, position: "10", asked: 1, watched: true, gone: true},
		"of another length":           {options: metav1.ListOptions{ResourceVersion: "100"}, position: "99", asked: 1, watched: true, gone: true},
		"no version is reported":      {options: metav1.ListOptions{ResourceVersion: "9"}, position: "", asked: 1, watched: true},
		"the API server is not there": {options: metav1.ListOptions{ResourceVersion: "9"}, fails: down, asked: 1, watched: true},
		"the watch does not start":    {options: metav1.ListOptions{ResourceVersion: "9"}, position: "10", refuses: down},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.LabelSelector = "a=b"
			asked, watched, started := 0, false, apiwatch.NewFake()
			got, err := resumeWatch(t.Context(), c.options,
				func(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
					asked++
					// A label selector makes a server that answers from etcd read all objects; a single name does not.
					if o.Limit != 1 || o.ResourceVersion != "" || o.LabelSelector != "" || !strings.HasPrefix(o.FieldSelector, "metadata.name=") {
						t.Errorf("asks with %+v: for more than it needs, or for less than the truth", o)
					}
					found := &unstructured.UnstructuredList{}
					found.SetResourceVersion(c.position)
					return found, c.fails
				},
				func(_ context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
					watched = o.ResourceVersion == c.options.ResourceVersion && o.SendInitialEvents == c.options.SendInitialEvents
					if c.refuses != nil {
						watched = false
						return nil, c.refuses
					}
					return started, nil
				})
			if asked != c.asked || watched != c.watched || apierrors.IsResourceExpired(err) != c.gone || errors.Is(err, down) != (c.fails != nil || c.refuses != nil) {
				t.Errorf("asked %d times, watched %v: %v", asked, watched, err)
			}
			if (got != nil) != (err == nil) || started.IsStopped() != (watched && err != nil) {
				t.Errorf("got %v with %v; stopped: %v", got, err, started.IsStopped())
			}
		})
	}
}
