package training

import (
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// AnnotationLedger is the annotation of a job that holds its Ledger, as JSON.
	AnnotationLedger = "training.kubeflow.org/ledger"
	// AnnotationRestartCount is the annotation of a pod that holds how many pods of its replica failed in a row before it.
	AnnotationRestartCount = "training.kubeflow.org/restart-count"

	// MaxLedger bounds the failures that one ledger holds at a time, about 80 bytes each.
	MaxLedger = 100
	// MaxCount bounds every count of restarts. An editor of a job may write any number; none is a loop bound.
	MaxCount = math.MaxInt32
)

// Ledger records what can no longer be observed once pods are deleted: which pods failed, which replicas succeeded, and
// how the job ended. It is an annotation of the job, because a status may be wiped, or pruned by the schema of the CRD.
//
//	{"job":"<UID>","restarts":3,"failed":{"worker-0":{"pod":"<UID>","row":2}}}
//	{"job":"<UID>","restarts":0,"succeeded":{"worker":"0-3,7"}}
//	{"job":"<UID>","restarts":3,"verdict":"Succeeded","at":"2026-01-01T00:00:00Z"}
//	{"job":"<UID>","restarts":0,"verdict":"Failed","at":"2026-01-01T00:00:00Z","lastFailure":{"pod":"j-worker-1","container":"pytorch",
//	"exitCode":137,"reason":"OOMKilled","node":"gpu-7","at":"2026-01-01T00:00:00Z"}}
type Ledger struct {
	// Job is the UID of the job: a user may copy the annotation to another job along with its manifest.
	Job types.UID `json:"job"`
	// Restarts counts one restart for each failed pod that was to be replaced, unless it was disrupted, plus the container
	// restarts by the kubelet in that pod, whose count is lost with the pod.
	Restarts int64 `json:"restarts"`
	// Disruptions counts the disrupted pods that were to be replaced. No limit counts them; see Pod.Disrupted.
	Disruptions int64 `json:"disruptions,omitempty"`
	// Failed holds, by replica ("worker-0"), the failed pods that are counted and whose successors may not exist yet.
	Failed map[string]Failure `json:"failed,omitempty"`
	// Succeeded holds, by the label of the replica type ("worker"), the replicas whose pods have succeeded. If such a pod is
	// deleted, it is not created again.
	Succeeded map[string]Indices `json:"succeeded,omitempty"`
	// Terminal is the type of the terminal condition, Succeeded or Failed, and At is when the job got it. Both are empty unless
	// pods that proved it are missing or being deleted.
	Terminal ConditionType `json:"verdict,omitempty"`
	At       *metav1.Time  `json:"at,omitempty"`
	// LastFailure is the pod that failed first the last time that pods of the job failed: when they were to be replaced, or
	// when the job failed. The pod itself may be gone. It is written with whatever else is written for the failure.
	LastFailure *FailedPod `json:"lastFailure,omitempty"`
}

// Failure is one failed pod that was counted.
type Failure struct {
	Pod types.UID `json:"pod"`
	// ConsecutiveFailures is how many pods of the replica have failed in a row, this one included.
	ConsecutiveFailures int64 `json:"row"`
}

// ReplicaName returns the name of a replica in a ledger: "worker-0".
func ReplicaName(roleLabel string, index int) string { return roleLabel + "-" + strconv.Itoa(index) }

// Count returns n clamped to the range from 0 to MaxCount.
func Count(n int64) int64 { return min(max(n, 0), MaxCount) }
