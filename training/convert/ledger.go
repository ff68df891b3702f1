package convert

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
)

// ledgerLimit bounds the annotation, in bytes, far above the size of a full ledger.
const ledgerLimit = 32 << 10

// ledgerOf reads the ledger of the object with that UID leniently: malformed parts count as absent, and numbers are clamped
// to their bounds. The ledger is never a reason to reject the object. One with another UID, from a copied manifest, is
// ignored.
func ledgerOf(kind *training.Kind, owner types.UID, annotations any) training.Ledger {
	all, _ := annotations.(map[string]any)
	text, _ := all[training.AnnotationLedger].(string)
	if text == "" || len(text) > ledgerLimit {
		return training.Ledger{}
	}
	var read struct {
		Job       types.UID
		Restarts  json.RawMessage
		Disrupted json.RawMessage `json:"disruptions"`
		Failed    map[string]json.RawMessage
		Succeeded map[string]json.RawMessage
		Terminal  json.RawMessage `json:"verdict"`
		At        json.RawMessage
		Last      json.RawMessage `json:"lastFailure"`
	}
	// If one value has the wrong type, Unmarshal still reads all others.
	if err := json.Unmarshal([]byte(text), &read); isSyntax(err) || read.Job != owner || owner == "" {
		return training.Ledger{}
	}
	ledger := training.Ledger{Job: owner, Restarts: countOf(read.Restarts), Disruptions: countOf(read.Disrupted)}
	if v := training.ConditionType(stringOf(read.Terminal)); v == training.Succeeded || v == training.Failed {
		ledger.Terminal, ledger.At = v, new(statusReader).moment(stringOf(read.At))
	}
	ledger.Succeeded = successesOf(kind, read.Succeeded)
	ledger.LastFailure = failedPodOf(read.Last)
	for _, replica := range slices.Sorted(maps.Keys(read.Failed)) {
		var failure struct {
			Pod types.UID
			Row json.RawMessage
		}
		if err := json.Unmarshal(read.Failed[replica], &failure); err != nil || failure.Pod == "" || len(ledger.Failed) == training.MaxLedger {
			continue
		}
		if ledger.Failed == nil {
			ledger.Failed = make(map[string]training.Failure)
		}
		ledger.Failed[replica] = training.Failure{Pod: failure.Pod, ConsecutiveFailures: countOf(failure.Row)}
	}
	return ledger
}

// failedPodOf returns the recorded failure of a pod with clean and bounded texts, or nil if it names no pod.
func failedPodOf(raw json.RawMessage) *training.FailedPod {
	var read struct {
		Pod, Container, Reason, Disruption, Node, At json.RawMessage
		Init, ExitCode, Signal                       json.RawMessage
	}
	if json.Unmarshal(raw, &read) != nil {
		return nil
	}
	name := func(raw json.RawMessage) string { return schema.Clean(stringOf(raw), training.MaxFailedName) }
	reason := func(raw json.RawMessage) string { return schema.Clean(stringOf(raw), training.MaxFailedReason) }
	failed := &training.FailedPod{Pod: name(read.Pod), Container: name(read.Container), Reason: reason(read.Reason), Disruption: reason(read.Disruption),
		Node: name(read.Node), At: new(statusReader).moment(stringOf(read.At))}
	if failed.Pod == "" {
		return nil
	}
	// A number or a truth value that is malformed is zero.
	_ = json.Unmarshal(read.Init, &failed.Init)
	_ = json.Unmarshal(read.ExitCode, &failed.ExitCode)
	_ = json.Unmarshal(read.Signal, &failed.Signal)
	return failed
}

// successesOf returns the recorded successes of the kind's replica types, for at most MaxReplicas replicas.
func successesOf(kind *training.Kind, read map[string]json.RawMessage) (found map[string]training.Indices) {
	left := training.MaxReplicas
	for i := range kind.ReplicaTypes {
		label := kind.ReplicaTypes[i].Label
		indices := training.ParseIndices(stringOf(read[label]))
		if n := indices.Count(); n > 0 && n <= left {
			if found == nil {
				found = make(map[string]training.Indices)
			}
			found[label] = indices
			left -= n
		}
	}
	return found
}

// stringOf returns the string, or "" if it is none.
func stringOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// countOf returns the number clamped to the bounds of a count; 0 if it is no number.
func countOf(raw json.RawMessage) int64 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !math.IsInf(f, 0) { // an infinity is what is out of range
		return 0
	}
	return training.Count(int64(min(max(f, 0), training.MaxCount)))
}
