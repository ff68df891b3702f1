// Package schedule answers one question: WHEN IS A SCHEDULE DUE? It is for operators that run something by the clock.
//
//	Zone    a time zone of the IANA database by its name, or what is wrong with it
//	Parse   a schedule of five fields in a zone, or what is wrong with it, field by field
//	Next    the first minute after a time at which the schedule is due
//	Latest  the last such minute up to a time
//	Runs    what is due now, what is next and what was missed; Name and TimeOf tie the name of a run's object to its time
//
// Every function returns for every input. All are pure, except for the database of zones, which is the machine's or the program's own. No
// input makes them slow: a schedule that is never due is a problem, and what is due is searched for, not counted.
//
// github.com/netresearch/go-cron parses the fields. This package computes when they are due: that library, as others with the same
// origin, leaves out the whole day on which clocks go forward at midnight, as they do in Santiago.
package schedule
