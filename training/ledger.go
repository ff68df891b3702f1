package training

import (
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// AnnotationLedger of a job holds its Ledger, as JSON.
	AnnotationLedger = "training.kubeflow.org/ledger"
	// AnnotationRestartCount of a pod says how many pods of its replica failed in a row before it.
	AnnotationRestartCount = "training.kubeflow.org/restart-count"

	// MaxLedger bounds the failures that one ledger holds at a time, about 80 bytes each.
	MaxLedger = 100
	// MaxCount bounds every count of restarts. Whoever may edit a job may write any number; none is a loop bound.
	MaxCount = math.MaxInt32
)

// Ledger is the record of what cannot be seen any more once pods are deleted: which of them failed, which replicas have
// succeeded, and how the job ended. It stands in the metadata of the job, as a status may be wiped, or pruned by the
// schema of the CRD.
//
//	{"job":"<UID>","restarts":3,"failed":{"worker-0":{"pod":"<UID>","row":2}}}
//	{"job":"<UID>","restarts":0,"succeeded":{"worker":"0-3,7"}}
//	{"job":"<UID>","restarts":3,"verdict":"Succeeded","at":"2026-01-01T00:00:00Z"}
type Ledger struct {
	// Job is the UID of the job that this is the ledger of: annotations are copied along with manifests.
	Job types.UID `json:"job"`
	// Restarts is how many there were: one for each pod that failed and was to be replaced, and what its kubelet had
	// restarted in it, which is gone with it.
	Restarts int64 `json:"restarts"`
	// Failed holds, by replica ("worker-0"), the pods that are counted and whose successors may not stand yet.
	Failed map[string]Failure `json:"failed,omitempty"`
	// Succeeded holds, by the label of the replica type ("worker"), the replicas whose pods have succeeded. A pod that is not there
	// any more is then not made again.
	Succeeded map[string]Indices `json:"succeeded,omitempty"`
	// Terminal is the type of the terminal condition, Succeeded or Failed, and At is when the job got it, if pods were deleted that
	// proved it; else both are empty.
	Terminal ConditionType `json:"verdict,omitempty"`
	At       *metav1.Time  `json:"at,omitempty"`
}

// Failure is one failed pod that was counted.
type Failure struct {
	Pod types.UID `json:"pod"`
	// ConsecutiveFailures is how many pods of the replica have failed in a row, this one included.
	ConsecutiveFailures int64 `json:"row"`
}

// ReplicaName is what a ledger calls a replica: "worker-0".
func ReplicaName(roleLabel string, index int) string { return roleLabel + "-" + strconv.Itoa(index) }

// Count is n within the bounds of a count.
func Count(n int64) int64 { return min(max(n, 0), MaxCount) }
