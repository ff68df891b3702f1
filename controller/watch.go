package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/election"
	"stoic/controller/watch"
	"stoic/schema"
)

// These types are what an author passes to New, and what their fields are made of. The author of an operator needs no package below this
// one except program and schedule.
type (
	// Watch is one custom resource to serve.
	Watch = watch.Watch
	// Owned is a resource that the objects of a watch own.
	Owned = watch.Owned
	// Read is a resource that decisions of a watch depend on, and that its objects do not own.
	Read = watch.Read
	// Generator makes fields of an object that must not appear in a plan, such as a password: see Owned.Generators.
	Generator = watch.Generator
	// Lease names the lease by which one of several processes is chosen to write; for Options. A program.Program has flags for it.
	Lease = election.Lease
	// Reasons are the reasons of events about writes of one resource.
	Reasons = watch.Reasons
	// Job is what SlimJob keeps of a batch/v1 Job.
	Job = watch.Job
	// Observed is what a decision may depend on.
	Observed = schema.Observed
	// Plan is what a decision leads to.
	Plan = schema.Plan
)

// ReasonsOf is watch.ReasonsOf.
func ReasonsOf(noun string) Reasons { return watch.ReasonsOf(noun) }

// SlimJob keeps of a batch/v1 Job what most operators need to know; for Owned.Slim.
func SlimJob(u *unstructured.Unstructured) any { return watch.SlimJob(u) }

// KubernetesReasons are the reasons that the controllers of Kubernetes use in their events.
func KubernetesReasons() Reasons { return watch.KubernetesReasons() }
