package malformed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/convert"
	"stoic/test/faults/mutation"
	"stoic/test/faults/scenario"
)

// way is how an object becomes malformed.
type way int

const (
	// before: it is stored before its operator starts.
	before way = iota
	// beside: it is stored while its operator runs.
	beside
	// edited: it is valid, and served, before an update makes it malformed; it is repaired afterwards.
	edited
)

func (w way) String() string {
	return [...]string{"stored before the operator started", "stored while the operator ran", "valid until it was updated"}[w]
}

// object is one malformed object.
type object struct {
	*kind
	choice
	way
	places  scenario.Places
	valid   map[string]any // with its name
	spoiled map[string]any // what valid is changed to

	// uid and stored are those of its last form; refusal is why the API server has rejected it.
	uid     types.UID
	stored  time.Time
	refusal string
	// said is the converter's result for the stored object.
	said       *convert.Result
	generation int64
	// settled is when it was first seen at its end; found are its violations.
	settled  time.Time
	found    []string
	repaired bool
	// foreign are the paths of the unknown fields that the mutation has put into the status.
	foreign []string
}

func newObject(k *kind, c choice, w way, p scenario.Places, name string) (*object, error) {
	u, err := scenario.Fill(k.Valid[c.base], p, k.Cluster, name)
	if err != nil {
		return nil, err
	}
	o := &object{kind: k, choice: c, way: w, places: p, valid: u.Object}
	if c.Part == mutation.Status {
		whole := maps.Clone(u.Object)
		whole["status"] = k.healthy[c.base].status
		o.spoiled = c.Apply(whole)
	} else {
		o.spoiled = c.Apply(u.Object)
	}
	if meta, _ := o.spoiled["metadata"].(map[string]any); meta == nil || meta["name"] != name && w == edited {
		o.way = beside // an update changes no name
	}
	return o, nil
}

// id returns the name of the object, which may have been changed.
func (o *object) id() string {
	meta, _ := o.spoiled["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

// created returns the body with which it is created.
func (o *object) created(bystander types.UID) []byte {
	if o.way == edited || o.Part == mutation.Status {
		return body(o.valid, bystander)
	}
	return body(o.spoiled, bystander)
}

// updated returns the body of an update of the current object: what the user has written, and what others have put into the metadata.
func (o *object) updated(to, now map[string]any, bystander types.UID) []byte {
	to = maps.Clone(to)
	meta, _ := to["metadata"].(map[string]any)
	was, _ := now["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	meta["resourceVersion"], meta["uid"] = was["resourceVersion"], was["uid"]
	theirs, _ := was["finalizers"].([]any)
	mine, _ := meta["finalizers"].([]any)
	for _, finalizer := range mine {
		if !slices.Contains(theirs, finalizer) {
			theirs = append(slices.Clone(theirs), finalizer)
		}
	}
	meta["finalizers"] = theirs
	to["metadata"] = meta
	delete(to, "status")
	return body(to, bystander)
}

// body returns JSON as it is sent. Its texts need not be UTF-8.
func body(v map[string]any, bystander types.UID) []byte {
	var b bytes.Buffer
	write(&b, v)
	return bytes.ReplaceAll(b.Bytes(), []byte("{"+mutation.Bystander+"}"), []byte(bystander))
}

// write writes JSON. Raw texts stay unchanged; the library would replace bytes that are not UTF-8.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, key)
			b.WriteByte(':')
			write(b, v[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, v[i])
		}
		b.WriteByte(']')
	case json.RawMessage:
		b.Write(v)
	case json.Number:
		b.WriteString(v.String())
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Appendf(nil, "%q", err.Error())
		}
		b.Write(text)
	}
}

// is records what is stored.
func (o *object) is(u *unstructured.Unstructured) {
	o.uid, o.stored, o.generation = u.GetUID(), time.Now(), u.GetGeneration()
	o.said, o.settled = o.Convert(u).Brief(), time.Time{}
}
