// Package schedule answers one question: WHEN IS A SCHEDULE DUE? It is for operators that run something by the clock.
//
//	Zone    a time zone of the IANA database by its name, or what is wrong with it
//	Parse   a schedule of five fields in a zone, or what is wrong with it, field by field
//	Next    the first minute after a time at which the schedule is due
//	Latest  the last such minute up to a time
//	Runs    what is due now, what is next and what was missed; Name and TimeOf tie the name of a run's object to its time
//
// It is total. It is pure as well, but for the database of zones, which is the machine's or the program's own. No text and no time
// makes it slow: a schedule that is never due is a problem, and what is due is searched for, not counted.
//
// The fields are read by github.com/netresearch/go-cron. When they are due is worked out here: that library, as others that
// descend from the same code, leaves out the whole day on which clocks go forward at midnight, as they do in Santiago.
package schedule
