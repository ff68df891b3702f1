package kinds_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// TestVolumes: the Volumes of a replica type, which containers in the template may mount, are those that the kind adds.
func TestVolumes(t *testing.T) {
	for _, kind := range append(kinds.All(), v2beta1.MPIJob()) {
		for _, known := range kind.ReplicaTypes {
			var added []string
			if kind.Pod != nil {
				job := &training.Job{Head: &training.Head{Kind: kind}}
				job.Meta.Name, job.Meta.Namespace = "pi", "team-a"
				for _, text := range kind.Pod(job, &training.ReplicaType{KnownReplicaType: known}).Volumes {
					var volume struct{ Name string }
					if err := json.Unmarshal(text, &volume); err != nil {
						t.Fatal(err)
					}
					added = append(added, volume.Name)
				}
			}
			slices.Sort(added)
			if diff := cmp.Diff(added, slices.Sorted(slices.Values(known.Volumes))); diff != "" {
				t.Errorf("%s of %s, %s (-added +said):\n%s", kind.Name, kind.Version, known.Name, diff)
			}
		}
	}
}
