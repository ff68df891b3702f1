package convert

import (
	"fmt"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// nameLimit is the length of a DNS-1035 label, which the name of a service is.
const nameLimit = 63

// name checks that every replica's name will be legal. They differ in replica type and index only, so the longest one
// speaks for all.
func (r *reader) name(name string, rtypes []draft) {
	if name == "" {
		return // reported already
	}
	longest := ""
	for i := range rtypes {
		child := rtypes[i].Child(name, min(max(rtypes[i].Replicas, 1), training.MaxReplicas)-1)
		if len(child) > len(longest) {
			longest = child
		}
	}
	found := func() string {
		if longest == "" {
			return schema.Quote(name)
		}
		return schema.Quote(name) + `, whose replica would be named "` + schema.Clean(longest, 2*nameLimit) + `"`
	}
	want, hint := "", ""
	if over := max(len(longest), len(name)) - nameLimit; over > 0 {
		want, hint = "give replicas names of at most 63 characters", fmt.Sprintf("shorten it by %d", over)
	} else if !convert.ServiceName(name) {
		want, hint = `be lower-case letters, digits and "-", start with a letter and end with a letter or digit`, convert.SuggestName(name)
	}
	if want != "" {
		r.Take([]schema.Problem{{Code: schema.InvalidName, Path: "metadata.name", Found: found(), Want: want, Hint: hint}}, nil)
	}
}
