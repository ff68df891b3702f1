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
	name       bool // behind the text, instead of variables: the name of the pod
}

// additions are what a kind adds to a template.
type additions struct {
	training.PodAdditions
	container  string // the one that trains
	first      bool   // it is the first, whatever its name
	everywhere bool   // all containers get the variables
	init       []json.RawMessage
}

// newPodTemplate adds the additions to a template and cuts it. Parts of an unexpected shape, which the converter should
// not accept, are omitted or kept for the API server to reject.
func newPodTemplate(template []byte, with additions) *podTemplate {
	top := object(template)
	meta := object(top["metadata"])
	m := &podTemplate{labels: object(meta["labels"]), annotations: present(meta["annotations"]), finalizers: present(meta["finalizers"])}

	c := cutter{container: with.container, first: with.first, everywhere: with.everywhere}
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
	size := 0
	for _, v := range variables {
		size += len(v.Name) + len(v.Value) + len(v.Value)/8 + len(`{"name":"","value":""},`) // some room for what is escaped
	}
	list := make([]byte, 0, size)
	for i, v := range variables {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(append(list, `{"name":`...), quote(v.Name)...)
		if v.Field != "" {
			list = append(append(append(list, `,"valueFrom":{"fieldRef":{"fieldPath":`...), quote(v.Field)...), `}}}`...)
			continue
		}
		list = append(q.add(append(list, `,"value":`...), v.Value), '}')
	}
	size = 0
	for _, p := range m.pieces {
		size += len(p.text)
		if p.room {
			size += len(list) + len(p.open) + len(p.shut)
		}
	}
	w.Grow(size + 1) // for what closes the pod
	for _, p := range m.pieces {
		w.Write(p.text)
		if p.name {
			w.Write(quote(name))
		}
		if p.room && len(list) > 0 {
			w.WriteString(p.open)
			w.Write(list)
			w.WriteString(p.shut)
		}
	}
}

// cutter rewrites a spec and cuts it where variables are inserted.
type cutter struct {
	container  string
	first      bool
	everywhere bool
	met        bool // the training container: the first of its name
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

// withRoom writes a container with room after its last variable.
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
	c.members(container, func(key string) {
		if key != "env" {
			c.text.Write(container[key])
			return
		}
		c.text.Write(bytes.TrimSuffix(schema.JSON(env), []byte("]")))
		c.cut(piece{room: true, open: ","})
		c.text.WriteByte(']')
	})
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
