package convert

import (
	"fmt"
	"strings"

	"stoic/schema"
)

// nameLimit is the length of a DNS-1035 label, which the name of a service is.
const nameLimit = 63

// name checks that every replica's name will be legal. They differ in role and index only, so the longest one
// speaks for all.
func (r *reader) name(name string, roles []draft) {
	if name == "" {
		return // told already
	}
	longest := ""
	for i := range roles {
		child := schema.ChildName(name, roles[i].Label, min(max(roles[i].Replicas, 1), schema.MaxReplicas)-1)
		if len(child) > len(longest) {
			longest = child
		}
	}
	at := r.at
	r.at = path{{key: "metadata"}}
	defer func() { r.at = at }()
	found := func() string {
		if longest == "" {
			return schema.Quote(name)
		}
		return schema.Quote(name) + `, whose replica would be named "` + schema.Clean(longest, 2*nameLimit) + `"`
	}
	if over := max(len(longest), len(name)) - nameLimit; over > 0 {
		r.problemIn("name", schema.InvalidName, found(), "give replicas names of at most 63 characters", fmt.Sprintf("shorten it by %d", over))
	} else if !serviceName(name) {
		r.problemIn("name", schema.InvalidName, found(),
			`be lower-case letters, digits and "-", start with a letter and end with a letter or digit`, mendName(name))
	}
}

// mendName suggests the name that was probably meant.
func mendName(name string) string {
	if mended := mendedName(name); mended != "" {
		return `did you mean "` + mended + `"?`
	}
	return ""
}

// mendedName puts a dash for what may not stand in a name, as underscores in names that come from Python.
func mendedName(name string) string {
	if len(name) > nameLimit {
		return ""
	}
	mended := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	if mended == name || !serviceName(mended) {
		return ""
	}
	return mended
}
