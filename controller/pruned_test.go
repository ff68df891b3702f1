package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func TestPrunedWrites(t *testing.T) {
	p := newPrunedWrites()
	at := func(sec int64, reason string) *schema.Status {
		now := metav1.NewTime(time.Unix(sec, 0))
		return &schema.Status{StartTime: &now, ObservedGeneration: sec,
			Conditions: []schema.Condition{{Type: schema.Created, Status: metav1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now}}}
	}
	if p.knows("u", at(1, "A")) {
		t.Error("knows what was never noted")
	}
	p.note("u", at(1, "A"))
	if !p.knows("u", at(2, "A")) {
		t.Error("the same facts at another time are taken for new ones: it would be written for ever")
	}
	if p.knows("u", at(2, "B")) || p.knows("v", at(1, "A")) {
		t.Error("other facts, or another object, are taken for the same")
	}
	p.forget("u")
	if p.knows("u", at(1, "A")) {
		t.Error("not forgotten")
	}
	if sameText(nil, at(1, "A")) || sameText(at(1, "A"), nil) || !sameText(at(1, "A"), at(9, "A")) {
		t.Error("sameText")
	}
}
