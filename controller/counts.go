package controller

import (
	"encoding/json"
	"reflect"
	"time"

	"stoic/controller/apply"
	"stoic/schema"
)

// countsEvery is how often a status that only counts is written: a thousand pods that become ready one by one are then a few
// writes and not a thousand.
const countsEvery = 5 * time.Second

// debounceCounts takes the status out of a plan that has nothing else to write, if only numbers and messages of it are new and the
// last write is younger than countsEvery. The plan comes again when it is not.
//
//	what is new in the status                        the plan also writes something    then
//	a condition, a reason, a word, a list, a time    either                            written now: somebody waits for it
//	observedGeneration                               either                            written now
//	a value in the place of one of another type      either                            written now: the record is none that clients can read
//	numbers, messages of conditions                  yes                               written now: what is done may depend on its record
//	numbers, messages of conditions                  no                                written when the last write is countsEvery old
//
// What waits at a crash is written by the next process, which has written nothing yet.
func debounceCounts(o *Observed, plan *Plan) {
	wait := countsEvery - o.Now.Sub(o.WrittenAt)
	if plan.Status == nil || o.WrittenAt.IsZero() || wait <= 0 || wait > countsEvery || acts(plan) || o.Head.StatusUnfit ||
		!reflect.DeepEqual(withoutCounts(read(o.Head.Status), false), withoutCounts(read(plan.Status), false)) {
		return
	}
	plan.Status, plan.Pending, plan.Requeue = nil, true, apply.Earlier(plan.Requeue, wait)
}

// acts says whether a plan writes more than the status.
func acts(p *Plan) bool {
	return p.Annotate != nil || len(p.AddFinalizers)+len(p.RemoveFinalizers)+len(p.Events)+len(p.Create)+len(p.Patch)+len(p.Delete) > 0
}

// read is a status as JSON has it. It is the author's, and was made from JSON or is written as it: nothing in it is unknown to JSON.
func read(status any) (value any) {
	_ = json.Unmarshal(schema.JSON(status), &value)
	return value
}

// withoutCounts is a status without its numbers, but for observedGeneration, and without the messages of conditions. A number that is
// 0, or null, may be left out of it anyway.
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
