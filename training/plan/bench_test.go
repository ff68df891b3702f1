package plan

import (
	"fmt"
	"testing"
)

// BenchmarkMake measures a first reconcile, which builds all bodies, and a later one without any change.
func BenchmarkMake(b *testing.B) {
	for _, workers := range []int{4, 1000} {
		w := newCluster()
		w.ReplicaTypes = map[string]replicaTypeKnobs{"PS": {}, "Worker": {Replicas: &workers}}
		first := w.observe()
		for {
			p := Make(w.observe())
			if err := w.apply(p); err != nil {
				b.Fatal(err)
			}
			if len(p.Create) == 0 {
				break
			}
		}
		for _, p := range w.pods {
			p.Phase = "Running"
		}
		if err := w.apply(Make(w.observe())); err != nil {
			b.Fatal(err)
		}
		quiet := w.observe()
		for name, o := range map[string]Observed{"first": first, "quiet": quiet} {
			b.Run(fmt.Sprintf("%s/1ps+%dworkers", name, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Make(o)
				}
			})
		}
	}
}
