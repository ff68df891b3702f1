package events

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// backlog is what the emitter has still to send, and what it has sent recently. It is not safe for concurrent use.
//
//	events that wait           an event that a reconcile will emit again          one that no reconcile will emit again
//	less than roomyBytes       waits                                              waits
//	less than fullBytes        waits if its namespace has few, else is postponed  waits
//	more                       is postponed                                       is dropped, counted and logged
//
// So memory is bounded, a flood in one namespace takes no room from the others, and no event is dropped that can be emitted again: the
// reconcile is requeued for it.
type backlog struct {
	waiting map[string]*pendingEvent
	bytes   int
	// roomy and full are the limits of bytes: roomyBytes and fullBytes except in tests.
	roomy, full int
	// keyed holds the keys of those waiting events whose message may be replaced, by fingerprint.
	keyed map[fingerprint]string
	// crowd is how many events wait, by namespace.
	crowd map[string]int
	// recent and earlier remember the events of two periods, so that the API server is not sent the same events repeatedly. Their size is
	// bounded, as a period is dropped as a whole.
	recent, earlier map[fingerprint]struct{}
	rotated         time.Time
}

// pendingEvent is an event that waits. Its object is made only when it is sent: that takes three times the memory.
type pendingEvent struct {
	schema.Event
	about *subject
	name  string
}

// subject is what events need of an object. All events of one reconcile share one.
type subject struct {
	resource        schema.Resource
	namespace, name string
	uid             types.UID
}

// space returns the namespace of the event. For cluster-scoped objects it is the one in which kubectl looks for events.
func (s *subject) space() string {
	if s.namespace == "" {
		return metav1.NamespaceDefault
	}
	return s.namespace
}

// fingerprint identifies an event by its object, message and occasion.
type fingerprint [16]byte

const (
	// roomyBytes is a flood of some hundred thousand events: as much as can be sent at the usual rate before they are
	// too old. The deployment's memory limit is a gigabyte.
	roomyBytes = 160 << 20
	fullBytes  = 2 * roomyBytes
	// fewWait is how many events of a namespace may wait although other namespaces have taken all the room.
	fewWait = 1000
	// weight is what an event takes beside its own text, in bytes: in the maps, in the queue and in recent. TestBacklogMemory measures
	// it.
	weight       = 600
	memoryPeriod = 30 * time.Minute
	oldEvent     = time.Minute
)

func newBacklog(now time.Time) *backlog {
	return &backlog{roomy: roomyBytes, full: fullBytes, waiting: map[string]*pendingEvent{}, keyed: map[fingerprint]string{}, crowd: map[string]int{}, recent: map[fingerprint]struct{}{}, rotated: now}
}

// rotate forgets what was sent long ago, but not what still waits: an API server may accept no events for longer than that.
func (b *backlog) rotate(now time.Time) {
	if now.Sub(b.rotated) <= memoryPeriod {
		return
	}
	b.earlier, b.recent, b.rotated = b.recent, map[fingerprint]struct{}{}, now
	for _, u := range b.waiting {
		b.recent[printOf(u.about, u.Event)] = struct{}{}
	}
}

// answerOf is the answer of a backlog to one more event.
type answerOf int

const (
	queued    answerOf = iota // it waits under the key
	known                     // it was sent or waits already
	postponed                 // there is no room; the next reconcile shall ask again
	dropped                   // there is no room, and no reconcile will ask again
)

// add queues an event, if there is room and it is not known yet.
func (b *backlog) add(about *subject, event schema.Event, now time.Time) (key string, answer answerOf) {
	id := printOf(about, event)
	if b.knows(id) {
		b.reword(b.keyed[id], event)
		return "", known
	}
	derived := !event.Since.IsZero()
	switch {
	case b.bytes < b.roomy:
	case b.bytes >= b.full && !derived:
		return "", dropped
	case derived && (b.bytes >= b.full || b.crowd[about.namespace] >= fewWait):
		return "", postponed
	}
	if !derived || event.Since.After(now) {
		event.Since = now
	}
	b.recent[id] = struct{}{}
	u := &pendingEvent{Event: event, about: about, name: eventName(about, id)}
	key = about.namespace + "/" + lane(event, now) + "/" + about.name + "/" + u.name
	b.waiting[key] = u
	if event.Key != "" {
		b.keyed[id] = key
	}
	b.bytes += u.bytes(key)
	b.crowd[about.namespace]++
	return key, queued
}

// reword replaces the message of a waiting event by the one that was planned last. A sender may hold the old event, so it is not changed.
func (b *backlog) reword(key string, event schema.Event) {
	u := b.waiting[key]
	if u == nil || u.Message == event.Message {
		return
	}
	other := *u
	other.Message = event.Message
	b.waiting[key] = &other
	b.bytes += other.bytes(key) - u.bytes(key)
}

// remove removes an event that has been sent or will not be sent.
func (b *backlog) remove(key string) {
	u := b.waiting[key]
	if u == nil {
		return
	}
	delete(b.waiting, key)
	if u.Key != "" {
		delete(b.keyed, printOf(u.about, u.Event))
	}
	b.bytes -= u.bytes(key)
	if b.crowd[u.about.namespace]--; b.crowd[u.about.namespace] == 0 {
		delete(b.crowd, u.about.namespace)
	}
}

func (u *pendingEvent) bytes(key string) int {
	return weight + len(key) + len(u.name) + len(u.Message) + len(u.FieldPath) + len(u.Occasion) + len(u.Reason) + len(u.Key)
}

func (b *backlog) knows(id fingerprint) bool {
	if _, ok := b.recent[id]; ok {
		return true
	}
	_, ok := b.earlier[id]
	return ok
}

// lane returns the lane of an event. The lanes of a namespace take turns, so that none waits for another. Within a lane the objects take
// turns, so that each user reads a first event before any reads the last.
//
//	lifecycle  what happens to objects: never behind ten thousand rejections in the same namespace
//	spec       what is wrong with specs
//	past       what happened a while ago: after a restart all of it is emitted again, and most has been sent
func lane(event schema.Event, now time.Time) string {
	if now.Sub(event.Since) > oldEvent {
		return "past"
	}
	if event.AboutSpec {
		return "spec"
	}
	return "lifecycle"
}

func printOf(about *subject, event schema.Event) fingerprint {
	said := []string{event.Message, event.Occasion}
	if event.Key != "" {
		said = []string{"", event.Occasion, event.Key}
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(about.uid), event.Type, event.Reason, event.FieldPath}, said...), "\x00")))
	return fingerprint(sum[:16])
}

// eventName makes a name from a fingerprint that shows kubectl users which object the event is about.
func eventName(about *subject, id fingerprint) string {
	object := about.name
	if len(object) > eventNameRoom {
		object = strings.TrimRight(object[:eventNameRoom], "-.")
	}
	return object + "." + hex.EncodeToString(id[:8])
}
