package versions

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"stoic/convert/versions"
	"stoic/training"
)

// FuzzVersions checks the law of round trips for any JSON object, as a job of each kind that has several versions.
func FuzzVersions(f *testing.F) {
	for _, seed := range []string{
		"{}",
		`{"metadata":{"name":"a"},"spec":{"cleanPodPolicy":"All","ttlSecondsAfterFinished":3,"tfReplicaSpecs":{"Chief":{"replicas":1,"restartPolicy":""}}}}`,
		`{"metadata":{"name":"a"},"spec":{"runPolicy":{"cleanPodPolicy":null,"suspend":true},"mpiReplicaSpecs":{"Launcher":{"restartPolicy":"OnFailure"}},"sshAuthMountPath":"/x"}}`,
		`{"metadata":{"annotations":{"` + training.AnnotationConversion + `":"{\"v1\":{\"filled\":{\"spec.runPolicy.cleanPodPolicy\":\"None\"}}}"}},"spec":{"mainContainer":7},"status":{"replicaStatuses":[]}}`,
		`{"metadata":{"annotations":7},"spec":"text","status":{"tfReplicaStatuses":{"Worker":{"active":1e300}}}}`,
		`{"metadata":[],"spec":{"mpiReplicaSpecs":{"Launcher":"text"},"runPolicy":[]}}`,
	} {
		for n := range uint8(32) {
			f.Add([]byte(seed), n)
		}
	}
	var all []*versions.Converter
	for _, k := range Kinds() {
		all = append(all, converterOf(f, k.Name))
	}
	f.Fuzz(func(t *testing.T, data []byte, choice uint8) {
		var object map[string]any
		if json.Unmarshal(data, &object) != nil || object == nil {
			return
		}
		n := int(choice)
		c, k := all[n%len(all)], Kinds()[n%len(all)]
		n /= len(all)
		names := c.Versions()
		from, by := names[n%len(names)], names[n/len(names)%len(names)]
		object["apiVersion"], object["kind"] = k.Group+"/"+from, k.Name
		there := kept(t, c, object, by)
		if there == nil {
			return
		}
		if back := kept(t, c, there, from); back != nil && normal(t, back) != normal(t, object) {
			t.Fatalf("%s of %s by %s and back:\n%s\n%s\n%s", k.Name, from, by, normal(t, object), normal(t, there), normal(t, back))
		}
	})
}

// kept returns an object in another version; nil if the result reports a loss.
func kept(t *testing.T, c *versions.Converter, object map[string]any, to string) map[string]any {
	t.Helper()
	before := normal(t, object)
	r := convertTo(t, c, object, to)
	if r.Outcome == versions.Panicked {
		t.Fatalf("%s\n%s", r.Why, r.Stack)
	}
	if got, err := c.VersionOf(r.Object); got != to || err != nil {
		t.Fatalf("%s, %v, want %s", got, err, to)
	}
	if after := normal(t, object); after != before {
		t.Fatalf("changed what it was given:\n%s\n%s", before, after)
	}
	if r.Outcome == versions.NotKept {
		return nil
	}
	return r.Object
}
