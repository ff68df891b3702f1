package convert

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// draft is a replica type that is not yet in normal form.
type draft struct {
	training.ReplicaType
	key   string // under which the user wrote it
	pod   pod
	sound bool // the number of replicas is what the author wrote
}

// replicaSpecs checks the field of a spec that maps replica type names to replica specs. The result is in the order of the
// kind. sound reports whether it has the replica types and numbers that the user wrote, whatever is wrong with the templates.
func (r *reader) replicaSpecs(spec map[string]any) (rtypes []draft, sound bool) {
	raw := spec[r.kind.ReplicaSpecsField]
	fields, ok := raw.(map[string]any)
	switch {
	case raw == nil:
		r.Problem(schema.MissingField, "", "be set", convert.Misspelt(spec, r.kind.ReplicaSpecsField))
		return nil, false
	case !ok:
		r.Problem(schema.TypeMismatch, convert.Found(raw), r.wantReplicaSpecs(), "")
		return nil, false
	case len(fields) == 0:
		r.Problem(schema.MissingField, "an empty object", r.wantReplicaSpecs(), "")
		return nil, false
	}
	chosen, sound := r.choose(fields)
	for i, key := range chosen {
		if key == "" {
			continue
		}
		r.Enter(key)
		rtype := r.replicaSpec(r.kind.ReplicaTypes[i], fields[key])
		rtype.key = key
		r.Leave()
		sound = sound && rtype.sound
		rtypes = append(rtypes, rtype)
	}
	return rtypes, sound && r.total(rtypes)
}

func (r *reader) wantReplicaSpecs() string {
	return "be an object with keys such as " + strconv.Quote(r.kind.ReplicaTypes[len(r.kind.ReplicaTypes)-1].Name)
}

// choose returns the key in the spec for each replica type of the kind. A key that differs in case counts as the replica type,
// even if the kind does not accept it, so that all its other problems are found, too.
func (r *reader) choose(fields map[string]any) (chosen []string, sound bool) {
	sound = true
	chosen = make([]string, len(r.kind.ReplicaTypes))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		rtype := r.kind.ReplicaType(key)
		if rtype == nil {
			sound = false
			r.unknownReplicaType(key)
			continue
		}
		at := slices.IndexFunc(r.kind.ReplicaTypes, func(k training.KnownReplicaType) bool { return k.Name == rtype.Name })
		if chosen[at] == "" {
			chosen[at] = key
			if key != rtype.Name && !r.kind.AnyCase {
				sound = false
				r.unknownReplicaType(key)
			}
			continue
		}
		sound = false
		if key == rtype.Name {
			key, chosen[at] = chosen[at], key
		}
		r.ProblemIn(key, schema.DuplicateName, schema.Quote(key)+" beside "+schema.Quote(chosen[at]),
			"name each replica type once", "merge the two")
	}
	return chosen, r.required(fields, chosen) && sound
}

// required reports a problem for each missing replica type that the kind requires, and returns whether all exist.
func (r *reader) required(fields map[string]any, chosen []string) bool {
	all := true
	for i, rtype := range r.kind.ReplicaTypes {
		if rtype.Required && chosen[i] == "" {
			all = false
			r.ProblemIn(rtype.Name, schema.MissingField, "", "be set", convert.Misspelt(fields, rtype.Name))
		}
	}
	return all
}

func (r *reader) unknownReplicaType(key string) {
	r.Enter(key)
	defer r.Leave()
	if r.Full() {
		return
	}
	names := make([]string, len(r.kind.ReplicaTypes))
	for i := range names {
		names[i] = r.kind.ReplicaTypes[i].Name
	}
	hint := ""
	if meant, ok := schema.Nearest(key, names); ok {
		hint = "did you mean `" + meant + "`?"
	}
	r.Problem(schema.UnknownReplicaType, "replica type "+schema.Quote(key), convert.OneOf(names), hint)
}

// replicaSpec checks one replica spec.
func (r *reader) replicaSpec(kind training.KnownReplicaType, raw any) draft {
	rtype := draft{ReplicaType: training.ReplicaType{KnownReplicaType: kind, Replicas: int(kind.Replicas), Restart: r.kind.RestartOf(&kind), Port: r.kind.Port.Number}}
	s := shapes.Of(reflect.TypeFor[training.ReplicaSpec]())
	fields, ok := raw.(map[string]any)
	if !ok {
		r.NotAnObject(raw)
		return rtype
	}
	var spec training.ReplicaSpec
	r.Walk(s, raw, reflect.ValueOf(&spec).Elem())

	rtype.sound = true
	switch n := spec.Replicas; {
	case n != nil:
		if only := kind.Only; only != 0 && *n != only {
			rtype.sound = false
			r.Enter("replicas")
			r.Problem(schema.ReplicaCount, convert.Found(int64(*n)), fmt.Sprintf("be %d", only), "leave it out")
			r.Leave()
		}
		rtype.Replicas = int(*n)
	case fields["replicas"] != nil:
		rtype.sound = false // reported by the walk
	}
	if rtype.sound && rtype.Replicas < int(kind.AtLeast) {
		rtype.sound = false
		r.ProblemIn("replicas", schema.ReplicaCount, found(fields["replicas"]), fmt.Sprintf("be %d or more", kind.AtLeast), "")
	}
	if policy := spec.RestartPolicy; policy != "" {
		rtype.Restart = training.RestartPolicy(policy)
		r.restartPolicy(rtype.Restart)
	}
	r.Enter("template")
	defer r.Leave()
	if fields["template"] == nil {
		hint := convert.Misspelt(fields, "template")
		if _, ok := fields["spec"].(map[string]any); ok {
			hint = "`spec` belongs in `template`"
		}
		r.Problem(schema.MissingField, "", "be set", hint)
	} else if template, ok := fields["template"].(map[string]any); ok {
		rtype.pod = r.template(template, &rtype.ReplicaType)
	}
	return rtype
}

// restartPolicy reports a restart policy that the kind does not support.
func (r *reader) restartPolicy(policy training.RestartPolicy) {
	legal := r.kind.RestartPolicies
	if legal == nil || slices.Contains(legal, policy) || !slices.Contains(training.RestartPolicies(), string(policy)) { // reported by the walk
		return
	}
	names := make([]string, len(legal))
	for i := range legal {
		names[i] = string(legal[i])
	}
	r.ProblemIn("restartPolicy", schema.InvalidValue, schema.Quote(string(policy)), convert.OneOf(names), "")
}

// found returns convert.Found of a value, or "" for nil.
func found(value any) string {
	if value == nil {
		return ""
	}
	return convert.Found(value)
}

// total checks the number of replicas of all replica types together. Each number was checked before.
func (r *reader) total(rtypes []draft) bool {
	sum := 0
	for i := range rtypes {
		sum += rtypes[i].Replicas
	}
	switch {
	case sum == 0 && len(rtypes) > 0:
		r.Problem(schema.ReplicaCount, "0 replicas", "have at least one replica", "")
	case sum > training.MaxReplicas:
		r.Problem(schema.ReplicaCount, fmt.Sprintf("%d replicas", sum), fmt.Sprintf("have at most %d replicas in all", training.MaxReplicas), "")
	default:
		return true
	}
	return false
}
