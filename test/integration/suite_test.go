package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// The three shapes of the CRD that the operator must support.

func TestWithOurCRD(t *testing.T) {
	quick(t)
	suite(t, filepath.Join(root, "deploy/crd/tfjobs.yaml"), true)
}

func TestWithCRDOfTrainingOperator194(t *testing.T) {
	full(t)
	suite(t, filepath.Join(root, "test/fixtures/tfjobs-v1.9.4-written.yaml"), false)
}

func TestWithOpenCRD(t *testing.T) {
	full(t)
	suite(t, "", false)
}

// suite runs every scenario on one control plane, each in its own namespaces. Those that stop operators have their own. Under the shape
// that is not ours only those run for which the shape matters.
func suite(t *testing.T, shape string, isOurs bool) {
	t.Parallel() // it mostly waits
	r := newRig(t, shape, func(r *rig) {
		r.storeNonsense(t, "stored")
		r.storeNonsense(t, "repaired")
		r.storeNonsense(t, "deleted")
	})
	r.keepsGeneration = isOurs || shape == ""
	r.structural = shape != ""
	restarts := map[string]func(*testing.T, *rig){
		"happy path":                         happyPath,
		"malformed objects stored":           malformedStored,
		"an object as deep as can be stored": deepObject,
	}
	scenarios := map[string]func(*testing.T, *rig){
		"rejected, then repaired":      rejectedThenRepaired,
		"running, nonsense, repaired":  runningThenNonsense,
		"malformed object deleted":     malformedDeleted,
		"status edited by somebody":    statusEdited,
		"unknown fields reach the pod": unknownFields,
	}
	if isOurs {
		restarts["terminal condition wiped by somebody"] = terminalConditionWiped
		scenarios["failing job"] = failingJob
		scenarios["deleted and recreated"] = deletedAndRecreated
		scenarios["replica restarted, then fatal"] = replicaRestarted
		scenarios["suspended and resumed"] = suspendedAndResumed
	}
	t.Run("restarts", func(t *testing.T) { sideBySide(t, r, restarts) })
	t.Run("scenarios", func(t *testing.T) { // one operator serves all of them
		r := r.of(r.kind)
		r.common = r.operator(t, "")
		sideBySide(t, r, scenarios)
	})
	t.Run("conduct", func(t *testing.T) { conduct(t, r) })
}

// storeNonsense creates a namespace and stores every malformed spec in it.
func (r *rig) storeNonsense(t *testing.T, ns string) {
	t.Helper()
	var all []string
	for _, m := range nonsense() {
		all = append(all, manifest(m.name, m.spec))
	}
	r.namespace(t, ns)
	r.kubectl(t, []byte(strings.Join(all, "\n---\n")), "-n", ns, "create", "-f", "-")
}
