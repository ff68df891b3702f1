package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/cli/cluster"
	"stoic/test/faults/oracle"
)

// What TestIsolation stores and lists, and for how long requests are measured.
const (
	largeObjects = 10_000
	largeBytes   = 10 << 10
	largeLists   = 4
	measured     = 20 * time.Second
)

// TestIsolation measures the effect of a separate server for custom resources: how long requests for ConfigMaps take while 10,000
// large custom resources are listed again and again. It asserts only that all are answered; the numbers are in docs/storage.md.
func TestIsolation(t *testing.T) {
	if os.Getenv("STOIC_ISOLATION") == "" {
		t.Skip("set STOIC_ISOLATION to measure: it takes some minutes, and wants the machine to itself")
	}
	for _, crs := range []string{cluster.CRsInCore, cluster.CRsAggregated} {
		t.Run(crs, func(t *testing.T) {
			r := bareRig(t, cluster.Options{CRs: crs, Nodes: -1, CRDs: []string{filepath.Join(root, "test/fixtures/foobars-open.yaml")}})
			ns := r.namespace(t, "large")
			foobars := r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobars"}).Namespace(ns)
			group, ctx := errgroup.WithContext(t.Context())
			group.SetLimit(16)
			for i := range largeObjects {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.example.com/v1alpha1", "kind": "FooBar",
					"metadata": map[string]any{"name": fmt.Sprint("f", i)}, "spec": map[string]any{"target": strings.Repeat("x", largeBytes)}}}
				group.Go(func() error { _, err := foobars.Create(ctx, o, metav1.CreateOptions{}); return err })
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, nothing else: %s", crs, r.latencies(t, ns))
			listing, stop := context.WithCancel(t.Context())
			lists, at := errgroup.WithContext(listing)
			for range largeLists {
				lists.Go(func() error {
					for at.Err() == nil {
						list, err := foobars.List(at, metav1.ListOptions{})
						switch {
						case at.Err() != nil:
						case err != nil:
							return err
						case len(list.Items) != largeObjects:
							return fmt.Errorf("%d objects are listed", len(list.Items))
						}
					}
					return nil
				})
			}
			t.Logf("%s, while %d clients list all: %s", crs, largeLists, r.latencies(t, ns))
			stop()
			if err := lists.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// latencies returns those of creations and reads of ConfigMaps, one after the other.
func (r *rig) latencies(t *testing.T, ns string) string {
	t.Helper()
	var creates, gets []time.Duration
	maps := r.typed.CoreV1().ConfigMaps(ns)
	for begin := time.Now(); time.Since(begin) < measured; {
		at := time.Now()
		made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		creates, at = append(creates, time.Since(at)), time.Now()
		if _, err := maps.Get(t.Context(), made.Name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		gets = append(gets, time.Since(at))
	}
	return "create " + quantiles(creates) + ", get " + quantiles(gets)
}

// quantiles returns the median, the 99th percentile, and the number of requests.
func quantiles(of []time.Duration) string {
	at := func(part float64) time.Duration { return oracle.Quantile(of, part).Round(100 * time.Microsecond) }
	return fmt.Sprintf("%v (median), %v (99th of 100), %d requests", at(0.5), at(0.99), len(of))
}
