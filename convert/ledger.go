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
)

// ledgerLimit is far above what a full ledger takes, in bytes.
const ledgerLimit = 32 << 10

// ledgerOf reads the ledger of the object with that UID leniently: what is malformed counts as absent, a number out of
// bounds as the nearest one within. It is never a reason to reject the object, and a ledger that came with a copied
// manifest is none.
func ledgerOf(owner types.UID, annotations any) schema.Ledger {
	all, _ := annotations.(map[string]any)
	text, _ := all[schema.AnnotationLedger].(string)
	if text == "" || len(text) > ledgerLimit {
		return schema.Ledger{}
	}
	var read struct {
		Job         types.UID
		Restarts    json.RawMessage
		Failed      map[string]json.RawMessage
		Verdict, At json.RawMessage
	}
	// Where a value has another type, all others are read nevertheless.
	if err := json.Unmarshal([]byte(text), &read); isSyntax(err) || read.Job != owner || owner == "" {
		return schema.Ledger{}
	}
	ledger := schema.Ledger{Job: owner, Restarts: countOf(read.Restarts)}
	if v := schema.ConditionType(stringOf(read.Verdict)); v == schema.Succeeded || v == schema.Failed {
		ledger.Verdict, ledger.At = v, new(statusReader).moment(stringOf(read.At))
	}
	for _, replica := range slices.Sorted(maps.Keys(read.Failed)) {
		var failure struct {
			Pod types.UID
			Row json.RawMessage
		}
		if err := json.Unmarshal(read.Failed[replica], &failure); err != nil || failure.Pod == "" || len(ledger.Failed) == schema.MaxLedger {
			continue
		}
		if ledger.Failed == nil {
			ledger.Failed = make(map[string]schema.Failure)
		}
		ledger.Failed[replica] = schema.Failure{Pod: failure.Pod, Row: countOf(failure.Row)}
	}
	return ledger
}

// stringOf is a string, or "" if it is none.
func stringOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// countOf is the count nearest to a number, however large; 0 if it is none.
func countOf(raw json.RawMessage) int64 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !math.IsInf(f, 0) { // an infinity is what is out of range
		return 0
	}
	return schema.Count(int64(min(max(f, 0), schema.MaxCount)))
}
