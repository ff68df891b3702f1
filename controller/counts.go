package controller

import (
	"encoding/json"
	"time"

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
//	numbers, messages of conditions                  yes                               written now: what is done may depend on its record
//	numbers, messages of conditions                  no                                written when the last write is countsEvery old
//
// What waits at a crash is written by the next process, which has written nothing yet.
func debounceCounts(o *Observed, plan *Plan) {
	wait := countsEvery - o.Now.Sub(o.WrittenAt)
	if plan.Status == nil || o.WrittenAt.IsZero() || wait <= 0 || wait > countsEvery || acts(plan) || !onlyCounts(read(o.Head.Status), read(plan.Status), false) {
		return
	}
	plan.Status, plan.Pending = nil, true
	if plan.Requeue <= 0 || wait < plan.Requeue {
		plan.Requeue = wait
	}
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

// onlyCounts says that two values differ in numbers at most, and in the messages of conditions. A number that is 0 may be left out.
func onlyCounts(before, after any, condition bool) bool {
	switch was := before.(type) {
	case map[string]any:
		is, same := after.(map[string]any)
		for name, value := range was {
			same = same && onlyCountsAt(name, value, is[name], condition)
		}
		for name, value := range is {
			if _, known := was[name]; !known {
				same = same && onlyCountsAt(name, nil, value, condition)
			}
		}
		return same
	case []any:
		is, same := after.([]any)
		if same = same && len(is) == len(was); !same {
			return false
		}
		for i := range was {
			same = same && onlyCounts(was[i], is[i], condition)
		}
		return same
	case float64:
		_, isNumber := after.(float64)
		return isNumber
	}
	return before == after
}

func onlyCountsAt(name string, before, after any, condition bool) bool {
	switch _, isNumber := after.(float64); {
	case name == "observedGeneration":
		return before == after
	case condition && name == "message":
		return true
	case before == nil && isNumber:
		return true
	}
	if _, wasNumber := before.(float64); wasNumber && after == nil {
		return true
	}
	return onlyCounts(before, after, name == "conditions")
}
