package convert

import (
	"fmt"
	"slices"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// nameLimit is the length of a DNS-1035 label, which the name of a service is.
const nameLimit = 63

// wantShortNames is the Want of a problem with a name that makes the names of replicas too long.
const wantShortNames = "give replicas names of at most 63 characters"

// name checks that every replica's name will be legal. It checks only the longest one, because they differ only in
// replica type and index.
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
		want, hint = wantShortNames, fmt.Sprintf("shorten it by %d", over)
	} else if !convert.ServiceName(name) {
		want, hint = `be lower-case letters, digits and "-", start with a letter and end with a letter or digit`, convert.SuggestName(name)
	}
	if want != "" {
		r.Take([]schema.Problem{{Code: schema.InvalidName, Path: "metadata.name", Found: found(), Want: want, Hint: hint}}, nil)
	}
}

// scaledName warns of a name that is short enough for the current replicas, but not for all that the job may be scaled to: a
// running job would be rejected after scaling, when its name cannot change any more.
func (r *reader) scaledName(name string, rtypes []draft, bound *training.Bound) {
	i := slices.IndexFunc(rtypes, func(d draft) bool { return bound != nil && d.Name == bound.ReplicaType })
	if i < 0 {
		return
	}
	fits := func(replicas int64) bool {
		return replicas < 1 || len(rtypes[i].Child(name, int(replicas)-1)) <= nameLimit
	}
	most := min(int64(bound.Replicas), training.MaxReplicas)
	if fits(most) || !fits(int64(rtypes[i].Replicas)) { // name reports the latter
		return
	}
	longest := rtypes[i].Child(name, int(most)-1)
	r.Take(nil, []schema.Problem{{Code: schema.InvalidName, Path: bound.Path,
		Found: fmt.Sprintf(`number %d, so that a replica may be named "%s"`, bound.Replicas, schema.Clean(longest, 2*nameLimit)),
		Want:  wantShortNames,
		Hint:  fmt.Sprintf("shorten the name of the job by %d; it is rejected once it is scaled beyond that", len(longest)-nameLimit)}})
}
