package convert

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"stoic/schema"
)

// draft is a role on its way to normal form.
type draft struct {
	schema.Role
	pod   pod
	sound bool // the number of replicas is what the author wrote
}

// roles checks the field that maps role names to replica specs. Sound says that the result holds what its
// author named, in the order of the kind: who and how many, whatever is wrong with the templates.
func (r *reader) roles(raw any) (roles []draft, sound bool) {
	fields, ok := raw.(map[string]any)
	switch {
	case raw == nil:
		r.problem(schema.MissingField, "", "be set", misspelt(r.at[len(r.at)-1].within, r.kind.RolesField))
		return nil, false
	case !ok:
		r.problem(schema.TypeMismatch, found(raw), r.wantRoles(), "")
		return nil, false
	case len(fields) == 0:
		r.problem(schema.MissingField, "an empty object", r.wantRoles(), "")
		return nil, false
	}
	chosen, sound := r.choose(fields)
	for i, key := range chosen {
		if key == "" {
			continue
		}
		r.enter(key)
		role := r.role(r.kind.Roles[i], fields[key])
		r.leave()
		sound = sound && role.sound
		roles = append(roles, role)
	}
	return roles, sound && r.total(roles)
}

func (r *reader) wantRoles() string {
	return "be an object with keys such as " + strconv.Quote(r.kind.Roles[len(r.kind.Roles)-1].Name)
}

// choose finds the author's key for each role of the kind; other spellings than the exact one will do.
func (r *reader) choose(fields map[string]any) (chosen []string, sound bool) {
	sound = true
	chosen = make([]string, len(r.kind.Roles))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		role := r.kind.Role(key)
		if role == nil {
			sound = false
			r.unknownRole(key)
			continue
		}
		at := slices.IndexFunc(r.kind.Roles, func(k schema.RoleKind) bool { return k.Name == role.Name })
		if chosen[at] == "" {
			chosen[at] = key
			continue
		}
		sound = false
		if key == role.Name {
			key, chosen[at] = chosen[at], key
		}
		r.problemIn(key, schema.DuplicateName, schema.Quote(key)+" beside "+schema.Quote(chosen[at]),
			"name each replica type once", "merge the two")
	}
	return chosen, sound
}

func (r *reader) unknownRole(key string) {
	r.enter(key)
	defer r.leave()
	if r.problems.skip(r.at) {
		return
	}
	names := make([]string, len(r.kind.Roles))
	for i := range names {
		names[i] = r.kind.Roles[i].Name
	}
	hint := ""
	if meant, ok := schema.Nearest(key, names); ok {
		hint = "did you mean `" + meant + "`?"
	}
	r.problem(schema.UnknownReplicaType, "replica type "+schema.Quote(key), oneOf(names), hint)
}

// role checks one replica spec.
func (r *reader) role(kind schema.RoleKind, raw any) draft {
	role := draft{Role: schema.Role{RoleKind: kind, Replicas: int(kind.Replicas), Restart: r.kind.Restart, Port: r.kind.Port.Number}}
	s := shapeOf(reflect.TypeFor[schema.ReplicaSpec]())
	fields, ok := raw.(map[string]any)
	if !ok {
		r.mismatch(object, raw)
		return role
	}
	var spec schema.ReplicaSpec
	r.walk(s, raw, reflect.ValueOf(&spec).Elem())

	role.sound = true
	switch n := spec.Replicas; {
	case n != nil:
		if only := kind.Only; only != 0 && *n != only {
			role.sound = false
			r.enter("replicas")
			r.problem(schema.ReplicaCount, found(whole(int64(*n))), fmt.Sprintf("be %d", only), "leave it out")
			r.leave()
		}
		role.Replicas = int(*n)
	case fields["replicas"] != nil:
		role.sound = false // told by the walk
	}
	if policy := spec.RestartPolicy; policy != "" {
		role.Restart = schema.RestartPolicy(policy)
	}
	r.enter("template")
	defer r.leave()
	if fields["template"] == nil {
		hint := misspelt(fields, "template")
		if _, ok := fields["spec"].(map[string]any); ok {
			hint = "`spec` belongs in `template`"
		}
		r.problem(schema.MissingField, "", "be set", hint)
	} else if template, ok := fields["template"].(map[string]any); ok {
		role.pod = r.template(template, &role.Role)
	}
	return role
}

// total checks the number of replicas of all roles together, each of which is in range and sound.
func (r *reader) total(roles []draft) bool {
	sum := 0
	for i := range roles {
		sum += roles[i].Replicas
	}
	switch {
	case sum == 0 && len(roles) > 0:
		r.problem(schema.ReplicaCount, "0 replicas", "have at least one replica", "")
	case sum > schema.MaxReplicas:
		r.problem(schema.ReplicaCount, fmt.Sprintf("%d replicas", sum), fmt.Sprintf("have at most %d replicas in all", schema.MaxReplicas), "")
	default:
		return true
	}
	return false
}
