package versions

// deepest is how many levels an object may have at a place that a conversion moves or puts aside. Decoders of JSON, including that
// of the API server, accept 10,000; the annotation adds a few.
const deepest = 9_000

// step converts between the hub and another version, in one direction.
type step struct {
	from, to string // versions
	fields   []move
	// apart are the places that only one of the two versions has; none is within another. Values there are put aside, whichever
	// version has the place. So content that no version knows does not gain a meaning.
	apart []place
	// containers are the objects that a step changes, from the top: all objects around fields and apart.
	containers []place
}

// move is a Move in one direction.
type move struct {
	from, to place
	// within is the innermost object around all its places: without it no default is written. both is the innermost object around
	// from and to: the same object, or one below it. All objects from there to either are apart.
	within, both place
	// absent is what an absent value means in the version that is converted from, absentTo in the other; nil if it is the same.
	absent, absentTo any
	// insteadFrom, if any, is the place of the value that counts if there is none at from; insteadTo is such a place of the other
	// version.
	insteadFrom, insteadTo place
}

// made is the outcome of a step.
type made struct {
	object map[string]any
	entry           // of the version that was converted from
	places []string // of what was put aside
}

// tooDeep: see deepest. A moved value counts by the longer of its places, so that the result is the same in both versions.
func (s *step) tooDeep(object map[string]any) bool {
	for _, f := range s.fields {
		levels := deepest - max(len(f.from), len(f.to), len(f.insteadFrom), len(f.insteadTo))
		for _, p := range []place{f.from, f.to, f.insteadFrom, f.insteadTo} {
			if p != nil && isDeeper(object, p, levels) {
				return true
			}
		}
	}
	for _, p := range s.apart {
		if isDeeper(object, p, deepest-len(p)) {
			return true
		}
	}
	return false
}

// isDeeper reports whether the value at a place has more levels than that.
func isDeeper(object map[string]any, p place, levels int) bool {
	value, ok := get(object, p)
	return ok && deeper(value, levels)
}

// run converts an object. back is what the object keeps of the version that it is converted to. run changes back.lost.
func (s *step) run(object map[string]any, back entry) made {
	m := made{object: opened(object, s.containers), entry: entry{lost: map[string]any{}, filled: map[string]any{}}}
	values, found := make([]any, len(s.fields)), make([]bool, len(s.fields))
	instead := make([]any, len(s.fields))
	for i, f := range s.fields {
		if f.insteadFrom != nil {
			instead[i], _ = get(m.object, f.insteadFrom)
		}
		values[i], found[i] = take(m.object, f.from)
	}
	s.putAside(&m, found)
	unfilled := make([]bool, len(s.fields))
	for i, f := range s.fields {
		if unfilled[i] = found[i] && f.wasFilled(m.object, values[i], back); unfilled[i] {
			if value, ok := get(back.lost, f.to); ok && void(value) {
				put(m.object, f.to, value)
			}
			continue
		}
		f.write(&m, values[i], found[i], instead[i])
	}
	s.giveBack(m.object, back.lost, unfilled)
	for i, f := range s.fields {
		if unfilled[i] {
			f.removeMade(m.object, back)
		}
	}
	return m
}

// putAside moves values of places that one of the versions lacks to lost. It drops an object that is empty because fields were
// taken out of it: that comes back with the fields.
func (s *step) putAside(m *made, found []bool) {
	for _, p := range s.apart {
		value, ok := take(m.object, p)
		if !ok {
			continue
		}
		emptied := false
		if object, is := value.(map[string]any); is && len(object) == 0 {
			for i, f := range s.fields {
				emptied = emptied || found[i] && f.from.within(p)
			}
		}
		if !emptied {
			put(m.lost, p, value)
			m.places = append(m.places, p.String())
		}
	}
}

// write writes a value to its new place, or a default if there is none.
func (f *move) write(m *made, value any, found bool, instead any) {
	fill := f.absent
	if !void(instead) {
		fill = instead
	}
	missing, ok := f.room(m.object)
	switch {
	case ok && fill != nil && void(value):
		put(m.object, f.to, fill)
		m.filled[f.to.String()] = fill
		for _, p := range missing {
			m.filled[p.String()] = map[string]any{}
		}
		if found {
			put(m.lost, f.from, value)
		}
	case found:
		put(m.object, f.to, value)
	}
}

// room reports whether a default can be written: no other value is in the way. It returns the missing objects around it, of those
// that both versions have.
func (f *move) room(object map[string]any) (missing []place, ok bool) {
	if objectAt(object, f.within) == nil {
		return nil, false
	}
	for i := len(f.within) + 1; i <= len(f.both); i++ {
		value, there := get(object, f.both[:i])
		if _, is := value.(map[string]any); there && !is {
			return nil, false
		} else if !there {
			missing = append(missing, f.both[:i])
		}
	}
	return missing, true
}

// removeMade removes the objects that were created for a default, if they are empty.
func (f *move) removeMade(object map[string]any, back entry) {
	for i := len(f.both); i > len(f.within); i-- {
		p := f.both[:i]
		_, noted := back.filled[p.String()]
		is, _ := get(object, p)
		if made, ok := is.(map[string]any); !noted || !ok || len(made) > 0 {
			return
		}
		take(object, p)
	}
}

// wasFilled reports whether a conversion from the target version wrote a value because there was none, and the value has not
// changed since. A record that says so counts only if that conversion would write the same.
func (f *move) wasFilled(object map[string]any, value any, back entry) bool {
	would := f.absentTo
	if f.insteadTo != nil && objectAt(object, f.insteadTo.parent()) != nil {
		would, _ = get(back.lost, f.insteadTo)
	}
	filled, ok := back.filled[f.from.String()]
	return ok && !void(would) && same(filled, value) && same(would, value)
}

// giveBack returns values that were put aside when the object was converted from the target version. It does so only if a
// conversion would put them aside again, in objects that still exist, and at places that are not taken.
func (s *step) giveBack(object, lost map[string]any, unfilled []bool) {
	if len(lost) == 0 {
		return
	}
	for _, p := range s.apart {
		value, ok := get(lost, p)
		parent := objectAt(object, p.parent())
		for i, f := range s.fields {
			switch {
			case p.within(f.to):
				ok = false
			case f.to.within(p):
				remove(value, f.to[len(p):])
			}
			// A substitute must not come to count while the place that it substitutes for is empty.
			if f.insteadTo != nil && p.within(f.insteadTo) && !void(value) && !unfilled[i] {
				is, _ := get(object, f.to)
				_, room := f.room(object)
				ok = ok && (!void(is) || !room)
			}
		}
		if ok && parent != nil {
			merge(parent, p.last(), value)
		}
	}
}

// remove removes the value at a place below a value.
func remove(value any, p place) {
	if object, ok := value.(map[string]any); ok {
		take(object, p)
	}
}
