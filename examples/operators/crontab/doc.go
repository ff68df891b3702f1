// Package crontab answers one question: HOW DOES AN OPERATOR START SOMETHING AT A TIME, ONCE?
//
// A CronTab runs an image by a schedule. Each run is a batch/v1 Job with the minute in its name; decide.go says which writes
// prevent that a run is started twice. Package schedule computes when a run is due. README.md has the details and how to run it.
//
// +groupName=stable.example.com
// +versionName=v1
package crontab
