package controller

import (
	"stoic/controller/watch"
	"stoic/schema"
)

// What an author gives to New; see package watch.
type (
	// Watch is one custom resource to serve.
	Watch = watch.Watch
	// Owned is a resource that the objects of a watch own.
	Owned = watch.Owned
	// Reasons are those of the events about writes of one resource.
	Reasons = watch.Reasons
	// Observed is what a decision may depend on.
	Observed = schema.Observed
	// Plan is what a decision leads to.
	Plan = schema.Plan
)

// ReasonsOf is watch.ReasonsOf.
func ReasonsOf(noun string) Reasons { return watch.ReasonsOf(noun) }
