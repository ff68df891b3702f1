package apply

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// statusPruning remembers, by UID, a status that the server did not keep as it was written, as a foreign schema prunes some of it.
// Otherwise every reconcile would write it again. The same status is written again only once the stored status says something else than
// what the server kept, by our own write or another.
type statusPruning struct{ memory[pruned] }

type pruned struct {
	wrote, kept []byte // their meaning
	version     string // of the object when it was so
}

func newStatusPruning() *statusPruning { return &statusPruning{newMemory[pruned]()} }

// changesNothing reports whether to write a status over the recorded one would change nothing.
func (p *statusPruning) changesNothing(head *schema.Head, status any) bool {
	p.Lock()
	was, ok := p.entries[head.Meta.UID]
	p.Unlock()
	return ok && bytes.Equal(was.wrote, meaning(status)) &&
		(was.version == head.Meta.ResourceVersion || bytes.Equal(was.kept, meaning(head.Status)))
}

// note records what was written and what the server kept of it, and reports whether they differ.
func (p *statusPruning) note(uid types.UID, wrote any, kept stored) bool {
	asked, has := meaning(wrote), meaning(readAs(wrote, kept.status))
	p.Lock()
	defer p.Unlock()
	if asked != nil && bytes.Equal(asked, has) {
		delete(p.entries, uid)
		return false
	}
	p.entries[uid] = pruned{wrote: asked, kept: has, version: kept.version}
	return true
}

// mostLost bounds how many fields are named.
const mostLost = 8

// notePruned logs the fields of a status that the schema of the CRD does not have, in one line, and again only when they are others. A
// CRD that is older than the operator is no failure: what it drops is not written again, and decisions do without it.
func (a *Applier) notePruned(fields []string) {
	if a.Pruned != nil {
		a.Pruned(len(fields) > 0)
	}
	if was := a.pruned.Load(); len(fields) > 0 && (was == nil || !slices.Equal(*was, fields)) {
		a.pruned.Store(&fields)
		a.Log.Warn("the CRD is older than this operator, or of another project: the API server does not keep all of the status", zap.Strings("fields", fields))
	}
}

// lostFields returns the fields that a status had when it was written and not when it was kept, as sorted paths without indices; mostLost
// at most.
func lostFields(wrote any, kept json.RawMessage) []string {
	text, err := json.Marshal(wrote)
	if err != nil {
		return nil
	}
	var asked, has any
	if json.Unmarshal(text, &asked) != nil || len(kept) > 0 && json.Unmarshal(kept, &has) != nil {
		return nil // it was read once already
	}
	found := map[string]bool{}
	lost("status", asked, has, found)
	fields := slices.Sorted(maps.Keys(found))
	return fields[:min(len(fields), mostLost)]
}

func lost(path string, asked, has any, found map[string]bool) {
	switch asked := asked.(type) {
	case nil:
	case map[string]any:
		there, isMap := has.(map[string]any)
		if !isMap && len(asked) > 0 {
			found[path] = true
			return
		}
		for key, member := range asked {
			lost(path+"."+key, member, there[key], found)
		}
	case []any:
		there, isList := has.([]any)
		if !isList && len(asked) > 0 {
			found[path] = true
			return
		}
		for i := range min(len(asked), len(there)) {
			lost(path, asked[i], there[i], found)
		}
	default:
		if has == nil {
			found[path] = true
		}
	}
}

// readAs reads a stored status into the type that plans write, as converters read it: fields that a schema adds by default are left out,
// and fields that are always written are there. A status that is not of this type is returned as it is.
func readAs(wrote any, status json.RawMessage) any {
	if wrote == nil || len(status) == 0 {
		return status
	}
	read := reflect.New(reflect.TypeOf(wrote))
	if err := json.Unmarshal(status, read.Interface()); err != nil {
		return status
	}
	return read.Interface()
}

// meaning returns a status as JSON, without what differs between two writings of the same facts: the value of a time (but not whether
// there is one), the generation, which has a rule of its own, and nulls. It is nil for what is not JSON.
func meaning(status any) []byte {
	text, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float would make two large numbers one
	if err := decoder.Decode(&value); err != nil || value == nil {
		return nil
	}
	text, err = json.Marshal(facts(value))
	if err != nil {
		return nil // what was JSON is JSON
	}
	return text
}

func facts(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil || key == "observedGeneration" {
				delete(v, key)
				continue
			}
			v[key] = facts(member)
		}
	case []any:
		for i := range v {
			v[i] = facts(v[i])
		}
	case string:
		const shortest = len("2006-01-02T15:04:05Z")
		if len(v) >= shortest && v[4] == '-' {
			if _, err := time.Parse(time.RFC3339, v); err == nil {
				return "a time"
			}
		}
	}
	return value
}

// observedGeneration returns that of a status; 0 if there is none.
func observedGeneration(status any) int64 {
	text, ok := status.(json.RawMessage)
	if !ok {
		var err error
		if text, err = json.Marshal(status); err != nil {
			return 0
		}
	}
	var read struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return 0
	}
	return read.ObservedGeneration
}
