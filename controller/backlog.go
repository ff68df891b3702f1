package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/plan"
	"stoic/schema"
)

// backlog is what the emitter has still to tell, and what it has told lately. It is not safe for use by several
// goroutines at once.
//
//	events that waits          a further event that a pass will ask for again    one that no pass will ask for again
//	less than roomyBytes       waits                                             waits
//	less than fullBytes        waits if its namespace has few, else comes back   waits
//	more                       comes back                                        is refused, and counted
//
// So memory is bounded, a flood in one namespace takes no room from the others, and nothing is dropped that can be
// asked for again: the pass comes back for it.
type backlog struct {
	waiting map[string]*untold
	bytes   int
	// roomy and full are the limits of bytes: roomyBytes and fullBytes but in tests.
	roomy, full int
	// crowd is how many events wait, by namespace.
	crowd map[string]int
	// told and toldBefore remember the events of two periods, so that the API server is not asked again and again
	// for what it has just been told. They bound themselves: a period is dropped as a whole.
	told, toldBefore map[fingerprint]struct{}
	turned           time.Time
}

// untold is an event that waits. It is made into an object only when it is sent: that takes three times the room.
type untold struct {
	plan.Event
	about *subject
	name  string
}

// subject is what events have to know of an object. All events of one pass share one.
type subject struct {
	kind            *schema.Kind
	namespace, name string
	uid             types.UID
}

// fingerprint of an event: the object, the sentence and the occasion.
type fingerprint [16]byte

const (
	// roomyBytes is a flood of some hundred thousand events: as much as can be told at the usual rate before they are
	// too old. The deployment's memory limit is a gigabyte.
	roomyBytes = 160 << 20
	fullBytes  = 2 * roomyBytes
	// fewWait is how many events of a namespace may wait although others have taken all the room.
	fewWait = 1000
	// weight is what an event takes beside its own text, in bytes: in the maps, in the queue and in the memory of
	// what was told. TestBacklogMemory measures it.
	weight       = 600
	memoryPeriod = 30 * time.Minute
	oldNews      = time.Minute
)

func newBacklog(now time.Time) *backlog {
	return &backlog{roomy: roomyBytes, full: fullBytes, waiting: map[string]*untold{}, crowd: map[string]int{}, told: map[fingerprint]struct{}{}, turned: now}
}

// turn forgets what was told long ago.
func (b *backlog) turn(now time.Time) {
	if now.Sub(b.turned) > memoryPeriod {
		b.toldBefore, b.told, b.turned = b.told, map[fingerprint]struct{}{}, now
	}
}

// answerOf a backlog to one more event.
type answerOf int

const (
	queued   answerOf = iota // it waits under the key
	known                    // it was told or waits already
	comeBack                 // there is no room; the next pass shall ask again
	refused                  // there is no room, and no pass will ask again
)

// add lets an event wait, if there is room and it is not known yet.
func (b *backlog) add(about *subject, event plan.Event, now time.Time) (key string, answer answerOf) {
	id := printOf(about, event)
	if b.knows(id) {
		return "", known
	}
	derived := !event.Since.IsZero()
	switch {
	case b.bytes < b.roomy:
	case b.bytes >= b.full && !derived:
		return "", refused
	case derived && (b.bytes >= b.full || b.crowd[about.namespace] >= fewWait):
		return "", comeBack
	}
	if !derived || event.Since.After(now) {
		event.Since = now
	}
	b.told[id] = struct{}{}
	u := &untold{Event: event, about: about, name: eventName(about, id)}
	key = about.namespace + "/" + lane(about, event, now) + "/" + about.name + "/" + u.name
	b.waiting[key] = u
	b.bytes += u.bytes(key)
	b.crowd[about.namespace]++
	return key, queued
}

// remove takes out an event that has been told or will not be.
func (b *backlog) remove(key string) {
	u := b.waiting[key]
	if u == nil {
		return
	}
	delete(b.waiting, key)
	b.bytes -= u.bytes(key)
	if b.crowd[u.about.namespace]--; b.crowd[u.about.namespace] == 0 {
		delete(b.crowd, u.about.namespace)
	}
}

func (u *untold) bytes(key string) int {
	return weight + len(key) + len(u.name) + len(u.Message) + len(u.FieldPath) + len(u.Occasion) + len(u.Reason)
}

func (b *backlog) knows(id fingerprint) bool {
	if _, ok := b.told[id]; ok {
		return true
	}
	_, ok := b.toldBefore[id]
	return ok
}

// lane is the order in which the events of a namespace are told. The lanes take turns, so that none waits for
// another, and within one the objects do, so that each author reads a first sentence before any reads the last.
//
//	life   what happens to jobs: never behind ten thousand rejections in the same namespace
//	spec   what is wrong with specs
//	past   what is old news: after a restart all of it is asked for again, and most has been told
func lane(about *subject, event plan.Event, now time.Time) string {
	if now.Sub(event.Since) > oldNews {
		return "past"
	}
	switch event.Reason {
	case about.kind.Reason(schema.ReasonFailedValidation), about.kind.Reason(schema.ReasonSpecWarning), schema.ReasonUnknownField:
		return "spec"
	}
	return "life"
}

func printOf(about *subject, event plan.Event) fingerprint {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(about.uid), event.Type, event.Reason,
		event.FieldPath, event.Message, event.Occasion}, "\x00")))
	return fingerprint(sum[:16])
}

// eventName makes a fingerprint into a name of which kubectl users see what it is about.
func eventName(about *subject, id fingerprint) string {
	job := about.name
	if len(job) > eventNameRoom {
		job = strings.TrimRight(job[:eventNameRoom], "-.")
	}
	return job + "." + hex.EncodeToString(id[:8])
}
