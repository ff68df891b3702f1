package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func statusAt(sec int64, reason string) *schema.Status {
	now := metav1.NewTime(time.Unix(sec, 0))
	return &schema.Status{StartTime: &now, ObservedGeneration: sec,
		Conditions: []schema.Condition{{Type: schema.Created, Status: metav1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now}}}
}

func TestPrunedWrites(t *testing.T) {
	p := newPrunedWrites()
	at := func(version string, stored *schema.Status) *schema.Head {
		h := &schema.Head{Status: *stored}
		h.Meta.UID, h.Meta.ResourceVersion = "u", version
		return h
	}
	less := statusAt(1, "") // what the server makes of any reason
	if p.knows(at("5", less), statusAt(1, "A")) {
		t.Error("knows what was never noted")
	}
	if !p.note("u", statusAt(1, "A"), less, "6") {
		t.Error("what was not kept is taken for kept")
	}
	if !p.knows(at("6", less), statusAt(2, "A")) || !p.knows(at("9", less), statusAt(2, "A")) {
		t.Error("the same facts at another time are taken for new ones: it would be written for ever")
	}
	if p.knows(at("6", less), statusAt(2, "B")) {
		t.Error("other facts are taken for the same")
	}
	if p.knows(at("7", &schema.Status{}), statusAt(2, "A")) {
		t.Error("somebody else has changed what is stored, and it is never put right")
	}
	noStart := statusAt(2, "A")
	noStart.StartTime = nil
	if p.knows(at("6", less), noStart) {
		t.Error("that there is no start time is no fact")
	}
	if !p.note("u", statusAt(1, "A"), nil, "8") || !p.knows(at("8", &schema.Status{Unclean: true}), statusAt(2, "A")) {
		t.Error("an answer that is no status")
	}
	p.forget("u")
	if p.knows(at("6", less), statusAt(1, "A")) {
		t.Error("not forgotten")
	}
	if sameText(nil, statusAt(1, "A")) || sameText(statusAt(1, "A"), nil) || !sameText(statusAt(1, "A"), statusAt(9, "A")) {
		t.Error("sameText")
	}
}

// A status that was pruned once, followed by one that was kept, must be written again when its turn comes again.
func TestPrunedThenKeptThenAgain(t *testing.T) {
	p := newPrunedWrites()
	head := &schema.Head{}
	head.Meta.UID, head.Meta.ResourceVersion = "u", "7"
	p.note("u", statusAt(1, "A"), statusAt(1, ""), "6")
	p.note("u", statusAt(2, "B"), statusAt(2, "B"), "7")
	head.Status = *statusAt(2, "B")
	if p.knows(head, statusAt(3, "A")) {
		t.Error("the status stays as it is for ever")
	}
}
