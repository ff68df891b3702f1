package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"stoic/schema"
	"stoic/training"
)

// podTemplate is a pod template that is cut where replicas differ, so that each further pod is a concatenation of
// pieces. The pieces stay raw: unknown fields and integers of any size are not changed.
type podTemplate struct {
	labels                  map[string]json.RawMessage
	annotations, finalizers json.RawMessage
	pieces                  []piece // of the spec
}

// piece is a text followed by room for variables, between open and shut. Without variables, open and
// shut are not written. The last piece has no room.
type piece struct {
	text       []byte
	room       bool
	open, shut string
	// kept are the names of variables that are not inserted, because the user's own stay.
	kept map[string]bool
	name bool // behind the text, instead of variables: the name of the pod
}

// additions are what a kind adds to a template.
type additions struct {
	training.PodAdditions
	container  string // the one that trains
	first      bool   // it is the first, whatever its name
	everywhere bool   // all containers get the variables
	init       []json.RawMessage
	// variables are those of any replica of the type: only their names, and whether the user's own win, are used.
	variables []training.EnvVar
}

// newPodTemplate adds the additions to a template and cuts it. Parts of an unexpected shape, which the converter should
// not accept, are omitted or kept for the API server to reject.
func newPodTemplate(template []byte, with additions) *podTemplate {
	top := object(template)
	meta := object(top["metadata"])
	m := &podTemplate{labels: object(meta["labels"]), annotations: present(meta["annotations"]), finalizers: present(meta["finalizers"])}

	c := cutter{container: with.container, first: with.first, everywhere: with.everywhere, userWins: make(map[string]bool, len(with.variables))}
	for _, v := range with.variables {
		c.userWins[v.Name] = v.UserWins
	}
	spec := object(top["spec"])
	put(spec, with)
	c.members(spec, func(key string) {
		switch {
		case key == "containers":
			c.containers(spec[key])
		case key == "hostname" && with.Hostname:
			c.cut(piece{name: true})
		default:
			c.text.Write(spec[key])
		}
	})
	c.cut(piece{})
	m.pieces = c.pieces
	return m
}

// put adds what is the same for all replicas, except variables, to a spec.
func put(spec map[string]json.RawMessage, with additions) {
	if len(with.init) > 0 {
		spec["initContainers"] = schema.JSON(withInit(spec, with.init))
	}
	if len(with.Volumes) > 0 {
		spec["volumes"] = behind(spec["volumes"], with.Volumes, "name")
	}
	if len(with.Mounts)+len(with.Container) > 0 {
		spec["containers"] = withTrainer(spec["containers"], with)
	}
	maps.Copy(spec, with.Spec)
	if with.Hostname {
		spec["hostname"] = nil // the name goes here
	}
}

// withTrainer returns the containers with the additions to the training container.
func withTrainer(list json.RawMessage, with additions) json.RawMessage {
	var all []json.RawMessage
	_ = json.Unmarshal(list, &all) // no list: the same as none
	at := slices.IndexFunc(all, func(one json.RawMessage) bool { return with.first || nameOf(one) == with.container })
	if at < 0 {
		return list
	}
	trainer := object(all[at])
	maps.Copy(trainer, with.Container)
	if len(with.Mounts) > 0 {
		trainer["volumeMounts"] = behind(trainer["volumeMounts"], with.Mounts, "mountPath")
	}
	all[at] = schema.JSON(trainer)
	return schema.JSON(all)
}

// behind appends items to a list, except those whose key is already in the list.
func behind(list json.RawMessage, more []json.RawMessage, key string) json.RawMessage {
	var all []json.RawMessage
	_ = json.Unmarshal(list, &all) // no list: the same as none
	taken := map[string]bool{}
	for _, one := range all {
		taken[textAt(one, key)] = true
	}
	for _, one := range more {
		if !taken[textAt(one, key)] {
			all = append(all, one)
		}
	}
	return schema.JSON(all)
}

// withInit returns the template's init containers followed by those of the kind, except where a container of the template
// has the same name: the user replaced it.
func withInit(spec map[string]json.RawMessage, init []json.RawMessage) []json.RawMessage {
	taken := map[string]bool{}
	var own []json.RawMessage
	for _, field := range []string{"containers", "initContainers"} {
		own = nil
		_ = json.Unmarshal(spec[field], &own) // no list: the same as none
		for _, one := range own {
			taken[nameOf(one)] = true
		}
	}
	for _, one := range init {
		if !taken[nameOf(one)] {
			own = append(own, one)
		}
	}
	return own
}

func nameOf(container json.RawMessage) string { return textAt(container, "name") }

// textAt returns the string member of an object, or "".
func textAt(of json.RawMessage, key string) string {
	var text string
	_ = json.Unmarshal(object(of)[key], &text)
	return text
}

// pour writes the spec of one replica.
func (m *podTemplate) pour(w *bytes.Buffer, name string, variables []training.EnvVar, q *jsonStrings) {
	shared := appendVariables(nil, variables, nil, q)
	size := 0
	for _, p := range m.pieces {
		size += len(p.text)
		if p.room {
			size += len(shared) + len(p.open) + len(p.shut)
		}
	}
	w.Grow(size + 1) // for what closes the pod
	for _, p := range m.pieces {
		w.Write(p.text)
		if p.name {
			w.Write(quote(name))
		}
		if !p.room {
			continue
		}
		list := shared
		if len(p.kept) > 0 {
			list = appendVariables(nil, variables, p.kept, q)
		}
		if len(list) > 0 {
			w.WriteString(p.open)
			w.Write(list)
			w.WriteString(p.shut)
		}
	}
}

// appendVariables appends the variables as JSON, with commas in between, except those to leave out.
func appendVariables(list []byte, variables []training.EnvVar, leaveOut map[string]bool, q *jsonStrings) []byte {
	size := 0
	for _, v := range variables {
		size += len(v.Name) + len(v.Value) + len(v.Value)/8 + len(`{"name":"","value":""},`) // some room for what is escaped
	}
	list = slices.Grow(list, size)
	for _, v := range variables {
		if leaveOut[v.Name] {
			continue
		}
		if len(list) > 0 {
			list = append(list, ',')
		}
		list = append(append(list, `{"name":`...), quote(v.Name)...)
		if v.Field != "" {
			list = append(append(append(list, `,"valueFrom":{"fieldRef":{"fieldPath":`...), quote(v.Field)...), `}}}`...)
			continue
		}
		list = append(q.add(append(list, `,"value":`...), v.Value), '}')
	}
	return list
}

// cutter rewrites a spec and cuts it where variables are inserted.
type cutter struct {
	container  string
	first      bool
	everywhere bool
	userWins   map[string]bool // by name of a variable that the operator adds
	met        bool            // the training container: the first of its name
	text       bytes.Buffer
	pieces     []piece
}

func (c *cutter) cut(p piece) {
	p.text = bytes.Clone(c.text.Bytes())
	c.text.Reset()
	c.pieces = append(c.pieces, p)
}

// members writes an object with sorted keys.
func (c *cutter) members(of map[string]json.RawMessage, value func(key string)) {
	c.text.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(of)) {
		if i > 0 {
			c.text.WriteByte(',')
		}
		c.text.Write(quote(key))
		c.text.WriteByte(':')
		value(key)
	}
	c.text.WriteByte('}')
}

func (c *cutter) containers(list json.RawMessage) {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil {
		c.text.Write(list)
		return
	}
	c.text.WriteByte('[')
	for i, one := range all {
		if i > 0 {
			c.text.WriteByte(',')
		}
		fields := object(one)
		var name string
		training := !c.met && (c.first || json.Unmarshal(fields["name"], &name) == nil && name == c.container)
		c.met = c.met || training
		if training || c.everywhere && len(fields) > 0 {
			c.withRoom(fields)
		} else {
			c.text.Write(one)
		}
	}
	c.text.WriteByte(']')
}

// withRoom writes a container with room for variables among the user's. A name occurs once, so that the API server can
// merge the list:
//
//	the user has set       the user's variable    the operator's variables are inserted
//	none of the names      -                      behind all of the user's
//	one that the user wins stays                  the same, without this one
//	any other              is left out            in its place, so that the user's variables behind it can refer to them
func (c *cutter) withRoom(container map[string]json.RawMessage) {
	var env []json.RawMessage
	_ = json.Unmarshal(container["env"], &env) // no list: the same as none
	if len(env) == 0 {
		// Written as a member of its own, in front, so that it can be left out.
		delete(container, "env")
		shut := `],`
		if len(container) == 0 {
			shut = `]`
		}
		c.text.WriteString(`{`)
		c.cut(piece{room: true, open: `"env":[`, shut: shut})
		var rest cutter
		rest.members(container, func(key string) { rest.text.Write(container[key]) })
		c.text.Write(rest.text.Bytes()[1:])
		return
	}
	before, after, kept := c.divide(env)
	c.members(container, func(key string) {
		if key != "env" {
			c.text.Write(container[key])
			return
		}
		c.text.WriteByte('[')
		c.text.Write(bytes.Join(before, []byte(",")))
		room := piece{room: true, kept: kept}
		if len(before) > 0 {
			room.open = ","
		} else if len(after) > 0 {
			room.shut = ","
		}
		c.cut(room)
		if len(before) > 0 && len(after) > 0 {
			c.text.WriteByte(',')
		}
		c.text.Write(bytes.Join(after, []byte(",")))
		c.text.WriteByte(']')
	})
}

// divide returns the user's variables that stay, before and after the place for the operator's, and the names of those
// variables of the operator that the user's replace.
func (c *cutter) divide(env []json.RawMessage) (before, after [][]byte, kept map[string]bool) {
	replaced := false
	for _, one := range env {
		name := nameOf(one)
		userWins, isAdded := c.userWins[name]
		if isAdded && !userWins {
			replaced = true
			continue
		}
		if isAdded {
			if kept == nil {
				kept = map[string]bool{}
			}
			kept[name] = true
		}
		if replaced {
			after = append(after, one)
		} else {
			before = append(before, one)
		}
	}
	return before, after, kept
}

// object decodes one level of an object; anything else becomes an empty object.
func object(text []byte) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return map[string]json.RawMessage{}
	}
	return fields
}

// present returns the text, or nil for a null.
func present(text json.RawMessage) json.RawMessage {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	return text
}
