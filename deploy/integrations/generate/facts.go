package main

import (
	"fmt"
	"slices"
	"strings"

	"stoic/training"
)

// fact is what a configuration says of a kind. Other programs identify kinds by group and name, so all versions of a kind share one fact.
type fact struct {
	Group, Name, Plural, Singular string
	// APIVersion is that of the first version. It means all versions in some programs, and only the first one in others.
	APIVersion string
	// Version is the only version, or "*" of a kind with several.
	Version string
	// First is the first version.
	First string
	// Field is the field of spec that holds the replica types.
	Field string
	// Container is the name of the container that trains.
	Container string
	// Types are the replica types of a small job.
	Types []replicaType
}

type replicaType struct {
	Name     string
	Replicas int
}

func facts(served []*training.Kind) ([]*fact, error) {
	var all []*fact
	for _, kind := range served {
		at := slices.IndexFunc(all, func(f *fact) bool { return f.Group == kind.Group && f.Name == kind.Name })
		if at < 0 {
			all = append(all, factOf(kind))
			continue
		}
		f := all[at]
		if f.Field != kind.ReplicaSpecsField || f.Plural != kind.Plural {
			return nil, fmt.Errorf("the versions of %s differ in the names of resource or field: say how a configuration tells them apart", kind.Name)
		}
		f.Version = "*"
	}
	return all, nil
}

func factOf(kind *training.Kind) *fact {
	f := &fact{Group: kind.Group, Name: kind.Name, Plural: kind.Plural, Singular: kind.Singular, APIVersion: kind.APIVersion(),
		Version: kind.Version, First: kind.Version, Field: kind.ReplicaSpecsField, Container: kind.Container}
	if kind.FirstContainer && f.Container == "" {
		f.Container = strings.TrimSuffix(kind.Singular, "job")
	}
	for _, t := range kind.ReplicaTypes {
		switch {
		case t.Name == "Worker":
			f.Types = append(f.Types, replicaType{t.Name, 2})
		case t.Required || t.Name == "Master" && kind.ReplicaType("Chief") == nil:
			f.Types = append(f.Types, replicaType{t.Name, 1})
		}
	}
	return f
}
