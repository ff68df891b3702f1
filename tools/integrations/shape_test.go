package integrations

import (
	"encoding/json"
	"slices"
	"strings"
)

// eachReplicaType calls do with each replica type of a job, in the order of names.
func eachReplicaType(object map[string]any, do func(name string, replicaType map[string]any)) {
	for field, value := range mapAt(object, "spec") {
		if !strings.HasSuffix(field, "ReplicaSpecs") {
			continue
		}
		types := value.(map[string]any)
		var names []string
		for name := range types {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			do(name, types[name].(map[string]any))
		}
	}
}

func eachTemplate(object map[string]any, do func(template map[string]any)) {
	eachReplicaType(object, func(_ string, r map[string]any) { do(r["template"].(map[string]any)) })
}

// plain returns an object as encoding/json reads it, with float64 for every number.
func plain(object map[string]any) map[string]any {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // it was read from JSON
	}
	value := map[string]any{}
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}
