package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// KubernetesReasons are those that the controllers of Kubernetes give to their events.
func KubernetesReasons() Reasons { return watch.KubernetesReasons() }
