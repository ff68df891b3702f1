// Package crontab answers one question: HOW DOES AN OPERATOR START SOMETHING AT A TIME, ONCE?
//
// A CronTab runs an image by a schedule. Each run is a batch/v1 Job that has the minute in its name; decide.go says by which
// writes none is started twice. When a schedule is due is in package schedule. README.md says what there is, and how to run it.
//
// +groupName=stable.example.com
// +versionName=v1
package crontab
