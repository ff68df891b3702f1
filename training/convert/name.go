package convert

import (
	"fmt"
	"slices"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// A name of a job is legal if all that is created can have the names that are made of it. This follows from the kind:
//
//	what has a name                                     its name
//	the job, as the value of labels                     at most 63 characters
//	a service of a replica or of the job                a DNS-1035 label: begins with a letter, no dots, at most 63
//	a replica with a hostname, a batch/v1 Job           at most 63
//	a pod, and all other objects                        a DNS-1123 subdomain, at most 253
const nameLimit = 63

const (
	// wantShortName is the Want of a problem with a name that is too long for a label.
	wantShortName = "have at most 63 characters, as it is the value of a label"
	// wantShortNames is the Want of a problem with a name that makes the names of replicas too long.
	wantShortNames = "give replicas names of at most 63 characters"

	wantServiceName = `be lower-case letters, digits and "-", start with a letter and end with a letter or digit`
	wantObjectName  = `be lower-case letters, digits, "-" and ".", with a letter or digit at the start, at the end and on both sides of each "."`
)

// name checks that the name of the job and of every replica will be legal. It checks only the last replica of each replica
// type, because they differ only in the index.
func (r *reader) name(name string, rtypes []draft) {
	if name == "" {
		return // reported already
	}
	longest, excess := "", 0
	for i := range rtypes {
		child := rtypes[i].Child(name, min(max(rtypes[i].Replicas, 1), training.MaxReplicas)-1)
		if len(child) > len(longest) {
			longest = child
		}
		excess = max(excess, len(child)-rtypes[i].NameLimit())
	}
	found := func() string {
		if longest == "" {
			return schema.Quote(name)
		}
		return schema.Quote(name) + `, whose replica would be named "` + schema.Clean(longest, 2*nameLimit) + `"`
	}
	report := func(found, want, hint string) {
		r.Take([]schema.Problem{{Code: schema.InvalidName, Path: "metadata.name", Found: found, Want: want, Hint: hint}}, nil)
	}
	excess = max(excess, len(name)-nameLimit)
	switch {
	case excess > 0 && !r.kind.HasServices():
		report(schema.Quote(name), wantShortName, fmt.Sprintf("shorten it by %d", excess))
	case excess > 0:
		report(found(), wantShortNames, fmt.Sprintf("shorten it by %d", excess))
	case r.kind.HasServices() && !convert.ServiceName(name):
		report(found(), wantServiceName, convert.SuggestName(name))
	case !convert.ObjectName(name):
		report(found(), wantObjectName, convert.SuggestObjectName(name))
	}
}

// scaledName warns of a name that is short enough for the current replicas, but not for all that the job may be scaled to: a
// running job would be rejected after scaling, when its name cannot change any more.
func (r *reader) scaledName(name string, rtypes []draft, bound *training.Bound) {
	i := slices.IndexFunc(rtypes, func(d draft) bool { return bound != nil && d.Name == bound.ReplicaType })
	if i < 0 {
		return
	}
	limit := rtypes[i].NameLimit()
	fits := func(replicas int64) bool {
		return replicas < 1 || len(rtypes[i].Child(name, int(replicas)-1)) <= limit
	}
	most := min(int64(bound.Replicas), training.MaxReplicas)
	if fits(most) || !fits(int64(rtypes[i].Replicas)) { // name reports the latter
		return
	}
	longest := rtypes[i].Child(name, int(most)-1)
	r.Take(nil, []schema.Problem{{Code: schema.InvalidName, Path: bound.Path,
		Found: fmt.Sprintf(`number %d, so that a replica may be named "%s"`, bound.Replicas, schema.Clean(longest, 2*nameLimit)),
		Want:  wantShortNames,
		Hint:  fmt.Sprintf("shorten the name of the job by %d; it is rejected once it is scaled beyond that", len(longest)-limit)}})
}
