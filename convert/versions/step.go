package versions

// deepest is how many levels an object may have at a place that a conversion moves or puts aside. Decoders of JSON, that of the API
// server among them, take 10,000; the annotation adds a few.
const deepest = 9_000

// step converts between the hub and another version, in one direction.
type step struct {
	from, to string // versions
	fields   []move
	// apart are the places that mean something in one of the two versions alone, either of them; none is in another. What stands
	// there is put aside, whichever version it belongs to: content that no version knows does not come to mean something.
	apart []place
	// containers are the objects that are changed, from the top: all that fields and apart stand in.
	containers []place
}

// move is a Move in one direction.
type move struct {
	from, to place
	// within is the innermost object that all its places stand in: without it no default is written. both is the innermost object
	// that from and to stand in, the same or one below that; what leads from there to either is apart.
	within, both place
	// What no value means, nil if it is the same: in the version that is converted from, and in the other.
	absent, absentTo any
	// insteadFrom, if any, has a value in the version that is converted from, which counts where there is none at from; insteadTo is
	// such a place of the other version.
	insteadFrom, insteadTo place
}

// made is the outcome of a step.
type made struct {
	object map[string]any
	entry           // of the version that was converted from
	places []string // of what was put aside
}

// tooDeep: see deepest. A value that is moved counts by the longer of its places, so that the answer is the same in both versions.
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

// isDeeper says whether a value stands there that has more levels than that.
func isDeeper(object map[string]any, p place, levels int) bool {
	value, ok := get(object, p)
	return ok && deeper(value, levels)
}

// run converts an object. back is what the object keeps of the version that it is converted to; lost in it is changed.
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

// putAside what stands at a place that one of the versions lacks. An object that is empty since fields were taken out of it is not
// kept: it comes back with them.
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

// write a value to its new place, or a default if there is none.
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

// room says whether a default can be written: which objects are missing for that, of those that both versions have, and that nothing
// else is in the way of them.
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

// removeMade removes the objects that were made for a default, if nothing else is in them.
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

// wasFilled says whether a value was written by a conversion from the version that is converted to now, for want of one there, and
// has not been changed since. A record that says so is believed only if that conversion would write the same.
func (f *move) wasFilled(object map[string]any, value any, back entry) bool {
	would := f.absentTo
	if f.insteadTo != nil && objectAt(object, f.insteadTo.parent()) != nil {
		would, _ = get(back.lost, f.insteadTo)
	}
	filled, ok := back.filled[f.from.String()]
	return ok && !void(would) && same(filled, value) && same(would, value)
}

// giveBack what was put aside when the object was converted from the version that it is converted to now: only where a conversion
// would put it aside again, to objects that are still there, and to places that are not taken.
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
			// While nothing stands where it would be the substitute for, it must not come to count.
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

// remove what stands at a place below a value.
func remove(value any, p place) {
	if object, ok := value.(map[string]any); ok {
		take(object, p)
	}
}
