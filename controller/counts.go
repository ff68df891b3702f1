package controller

import (
	"encoding/json"
	"reflect"
	"time"

	"stoic/controller/apply"
	"stoic/schema"
)

// countsEvery is the shortest interval between status writes that change only counts: a thousand pods that become ready one by one then
// cause a few writes, not a thousand.
const countsEvery = 5 * time.Second

// debounceCounts removes the status from a plan that writes nothing else, if only numbers and messages of it have changed and the last
// write is younger than countsEvery. The plan is then requeued for that moment.
//
//	what is new in the status                        the plan also writes something    then
//	a condition, a reason, a word, a list, a time    either                            written now: another client may wait for it
//	observedGeneration                               either                            written now
//	a value in the place of one of another type      either                            written now: clients cannot read the recorded one
//	numbers, messages of conditions                  yes                               written now: the other writes may depend on it
//	numbers, messages of conditions                  no                                written when the last write is countsEvery old
//
// A status that waits when the process crashes is written by the next process, which has written nothing yet.
func debounceCounts(o *Observed, plan *Plan) {
	wait := countsEvery - o.Now.Sub(o.WrittenAt)
	if plan.Status == nil || o.WrittenAt.IsZero() || wait <= 0 || wait > countsEvery || acts(plan) || o.Head.StatusUnfit ||
		!reflect.DeepEqual(withoutCounts(read(o.Head.Status), false), withoutCounts(read(plan.Status), false)) {
		return
	}
	plan.Status, plan.Pending, plan.Requeue = nil, true, apply.Earlier(plan.Requeue, wait)
}

// acts reports whether a plan writes more than the status.
func acts(p *Plan) bool {
	return p.Annotate != nil || len(p.AddFinalizers)+len(p.RemoveFinalizers)+len(p.Events)+len(p.Create)+len(p.Patch)+len(p.Delete) > 0
}

// read returns a status as decoded JSON. No error is possible: the status was read from JSON or is to be written as JSON.
func read(status any) (value any) {
	_ = json.Unmarshal(schema.JSON(status), &value)
	return value
}

// withoutCounts returns a status without nulls, without numbers except observedGeneration, and without the messages of conditions. They
// are removed, not blanked, as JSON may omit a null or a 0 anyway.
func withoutCounts(value any, conditions bool) any {
	switch value := value.(type) {
	case map[string]any:
		rest := map[string]any{}
		for name, v := range value {
			_, isNumber := v.(float64)
			if v == nil || isNumber && name != "observedGeneration" || conditions && name == "message" {
				continue
			}
			if rest[name] = v; !isNumber {
				rest[name] = withoutCounts(v, name == "conditions")
			}
		}
		return rest
	case []any:
		rest := make([]any, len(value))
		for i, v := range value {
			rest[i] = withoutCounts(v, conditions)
		}
		return rest
	case float64:
		return nil
	}
	return value
}
