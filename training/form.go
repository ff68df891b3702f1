package training

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"stoic/schema"
)

// Form says of the objects of one resource what is remembered and compared of their content, and how long they stay. Their
// specs, where they have any, are remembered as they are: they are small. Of all else no value is kept in memory, but
// what tells whether it is as wanted.
type Form struct {
	// NoSpec: the spec is not remembered either.
	NoSpec bool
	// Hashed are top-level members of which a hash is kept: one for each of its members if it is an object, else of the
	// whole. Members of members are strings or lists: a patch replaces them as a whole.
	Hashed []string
	// Keys are top-level members of which the keys are kept alone. Where one is missing, all are written: they belong
	// together.
	Keys []string
	// Fixed are top-level members that an API server never lets change. An object that differs in one is deleted and made
	// again.
	Fixed []string
	// Stays: it is neither deleted nor changed when its job is suspended or over.
	Stays bool
}

// FormOf a resource of dependent objects.
func FormOf(r schema.Resource) Form {
	switch r {
	case schema.ConfigMaps():
		return Form{NoSpec: true, Hashed: []string{"data"}, Stays: true}
	case schema.Secrets():
		return Form{NoSpec: true, Hashed: []string{"type"}, Keys: []string{"data"}, Fixed: []string{"type"}, Stays: true}
	case ServiceAccounts():
		return Form{NoSpec: true, Stays: true}
	case Roles():
		return Form{NoSpec: true, Hashed: []string{"rules"}, Stays: true}
	case RoleBindings():
		return Form{NoSpec: true, Hashed: []string{"subjects", "roleRef"}, Fixed: []string{"roleRef"}, Stays: true}
	}
	return Form{}
}

// ServiceAccounts, Roles and RoleBindings are resources of dependent objects.
func ServiceAccounts() schema.Resource {
	return schema.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount"}
}

func Roles() schema.Resource {
	return schema.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "roles", Kind: "Role"}
}

func RoleBindings() schema.Resource {
	return schema.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "rolebindings", Kind: "RoleBinding"}
}

// StateOf is what is remembered of an object, whatever is in it.
func (f Form) StateOf(object map[string]any) *DependentState {
	status, _ := object["status"].(map[string]any)
	s := &DependentState{}
	s.Phase, _ = status["phase"].(string)
	if spec := object["spec"]; spec != nil && !f.NoSpec {
		s.Spec, _ = json.Marshal(spec) // what cannot be written is nothing
	}
	if kept := f.Kept(object); len(kept) > 0 {
		s.Content = schema.JSON(kept)
	}
	return s
}

// Kept is what is remembered of the content beside the spec. What is wanted and what is stored are compared in this form.
func (f Form) Kept(content map[string]any) map[string]any {
	kept := map[string]any{}
	for _, member := range f.Hashed {
		switch value := content[member].(type) {
		case nil:
		case map[string]any:
			hashes := make(map[string]any, len(value))
			for key, v := range value {
				hashes[key] = hash(v)
			}
			kept[member] = hashes
		default:
			kept[member] = hash(value)
		}
	}
	for _, member := range f.Keys {
		if value, _ := content[member].(map[string]any); len(value) > 0 {
			kept[member] = slices.Sorted(maps.Keys(value))
		}
	}
	return kept
}

// hash of a value in JSON; the same for all that mean the same: an API server leaves out what is empty.
func hash(value any) string {
	text, _ := json.Marshal(lean(value)) // what cannot be written is nothing
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// lean is a value without the empty members of its objects.
func lean(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, member := range v {
			if member = lean(member); member != nil {
				all[key] = member
			}
		}
		if len(all) == 0 {
			return nil
		}
		return all
	case []any:
		if len(v) == 0 {
			return nil
		}
		all := make([]any, len(v))
		for i := range v {
			all[i] = lean(v[i])
		}
		return all
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}
