package training

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"stoic/schema"
)

// Form says which content of the objects of one resource is cached and compared, and how long the objects stay. Specs are
// small and are cached as they are. For all other content the cache holds only what a comparison with the desired content
// needs, never the values.
type Form struct {
	// NoSpec: the spec is not cached.
	NoSpec bool
	// Hashed are top-level members that are cached as hashes: one for each key if the member is an object, else one for the
	// whole. The values under these keys are strings or lists, so a patch replaces each of them as a whole.
	Hashed []string
	// Keys are top-level members of which only the keys are cached. If one is missing, all are written: they belong together.
	Keys []string
	// Fixed are immutable top-level members. An object that differs in one of them is deleted and created again.
	Fixed []string
	// Stays: the object is neither deleted nor changed when its job is suspended or over.
	Stays bool
}

// FormOf returns the form of a resource of dependent objects.
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

// StateOf returns the cached state of an object. It accepts any content.
func (f Form) StateOf(object map[string]any) *DependentState {
	status, _ := object["status"].(map[string]any)
	s := &DependentState{Ending: endingIn(object)}
	s.Phase, _ = status["phase"].(string)
	if spec := object["spec"]; spec != nil && !f.NoSpec {
		s.Spec, _ = json.Marshal(spec) // what cannot be written is nothing
	}
	if kept := f.Kept(object); len(kept) > 0 {
		s.Content = schema.JSON(kept)
	}
	return s
}

// Kept returns what is cached of the content other than the spec. Desired and stored content are compared in this form.
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

// hash returns a hash of a value in JSON. It ignores empty members, because an API server may leave them out.
func hash(value any) string {
	text, _ := json.Marshal(lean(value)) // what cannot be written is nothing
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// lean returns a value without the empty members of its objects.
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
