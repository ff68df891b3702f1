// Package foobarset answers one question: HOW DOES AN OPERATOR LOOK THAT HAS TWO LEVELS?
//
// A FooBarSet is what users write. It makes FooBarTasks, which are internal: another watch runs each as a batch/v1 Job and says
// in its status what came of it, and the set folds these statuses into its own. The two watches share nothing but what the API
// server holds, so they run in one process or in two. README.md says what happens when, and how to run both forms.
//
// +groupName=test.example.com
// +versionName=v1alpha1
package foobarset
