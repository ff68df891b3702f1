// Package foobarset answers one question: HOW DOES AN OPERATOR LOOK THAT HAS TWO LEVELS?
//
// Users write FooBarSets. A FooBarSet creates FooBarTasks, which are internal: another watch runs each task as a batch/v1 Job
// and reports the result in the status of the task, and the set aggregates these statuses into its own. The two watches share
// only the objects in the API server, so they run in one process or in two. README.md has the rules, and how to run both forms.
//
// +groupName=test.example.com
// +versionName=v1alpha1
package foobarset
