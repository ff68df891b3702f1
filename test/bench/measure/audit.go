package measure

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Requests of one sort and how many there were.
type Requests struct {
	Verb string `json:"verb"`
	// Resource with its subresource, as in "tfjobs/status".
	Resource string `json:"resource"`
	Code     int    `json:"code"`
	Count    int    `json:"count"`
}

// Audit follows an audit log and counts one user's requests. Only one goroutine may call its methods.
type Audit struct {
	file   *os.File
	user   []byte
	rest   []byte
	counts map[Requests]int
	// creation is when the first request to create a child arrived and when the last one did.
	creation span
	created  int
}

type span struct{ first, last time.Time }

// FollowAudit opens a log.
func FollowAudit(path, user string) (*Audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Audit{file: file, user: []byte(`"` + user + `"`), counts: map[Requests]int{}}, nil
}

// Close closes the log.
func (a *Audit) Close() error {
	if err := a.file.Close(); err != nil {
		return fmt.Errorf("close the audit log: %w", err)
	}
	return nil
}

// Forget drops what was counted so far.
func (a *Audit) Forget() {
	clear(a.counts)
	a.creation, a.created = span{}, 0
}

// Update reads new lines and returns how many requests they have.
func (a *Audit) Update() (found int, err error) {
	buffer := make([]byte, 1<<20)
	for {
		n, err := a.file.Read(buffer)
		for _, line := range a.lines(buffer[:n]) {
			ours, err := a.line(line)
			if err != nil {
				return found, err
			}
			found += ours
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("read the audit log: %w", err)
		}
	}
}

// lines splits what was read into whole lines; the last piece waits for its end.
func (a *Audit) lines(more []byte) (whole [][]byte) {
	a.rest = append(a.rest, more...)
	for {
		i := bytes.IndexByte(a.rest, '\n')
		if i < 0 {
			a.rest = slices.Clone(a.rest) // so that the memory of the lines before can be freed
			return whole
		}
		whole, a.rest = append(whole, a.rest[:i]), a.rest[i+1:]
	}
}

// entry is one line of the log.
type entry struct {
	Stage     string
	Verb      string
	User      struct{ Username string }
	ObjectRef struct {
		Resource, Subresource string
	}
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// line counts an entry, if it is the user's. A watch is counted when it begins: most of them never end.
func (a *Audit) line(line []byte) (int, error) {
	if !bytes.Contains(line, a.user) {
		return 0, nil
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return 0, fmt.Errorf("read a line of the audit log: %w", err)
	}
	counted := "ResponseComplete"
	if e.Verb == "watch" {
		counted = "ResponseStarted"
	}
	if `"`+e.User.Username+`"` != string(a.user) || e.Stage != counted || e.ObjectRef.Resource == "" {
		return 0, nil
	}
	r := Requests{Verb: e.Verb, Resource: e.ObjectRef.Resource, Code: e.ResponseStatus.Code}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	a.counts[r]++
	if r.Verb == "create" && r.Code < 300 && (r.Resource == "pods" || r.Resource == "services") {
		a.created++
		if a.creation.first.IsZero() || e.RequestReceivedTimestamp.Before(a.creation.first) {
			a.creation.first = e.RequestReceivedTimestamp
		}
		if e.StageTimestamp.After(a.creation.last) {
			a.creation.last = e.StageTimestamp
		}
	}
	return 1, nil
}

// CreationRate returns how many pods and services were created per second, from the first request to the last answer.
func (a *Audit) CreationRate() float64 {
	took := a.creation.last.Sub(a.creation.first).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(a.created) / took
}

// Counts returns what was counted, sorted.
func (a *Audit) Counts() []Requests {
	all := make([]Requests, 0, len(a.counts))
	for r, n := range a.counts {
		r.Count = n
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Requests) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// Totals of counts.
type Totals struct {
	// Writes of anything but events and leases, rejected or not.
	Writes int
	// Events counts the requests to write an event.
	Events    int
	Conflicts int // answers 409 to any request
	Gets      int
	Lists     int
	// Failures are other answers from 400 on.
	Failures int
}

// Sum adds counts up, without leases: these depend on time and not on jobs.
func Sum(counts []Requests) (t Totals) {
	for _, r := range counts {
		if r.Resource == "leases" {
			continue
		}
		switch {
		case r.Verb == "get":
			t.Gets += r.Count
		case r.Verb == "list":
			t.Lists += r.Count
		case r.Verb == "watch":
		case r.Resource == "events":
			t.Events += r.Count
		default:
			t.Writes += r.Count
		}
		switch {
		case r.Code == 409:
			t.Conflicts += r.Count
		case r.Code >= 400:
			t.Failures += r.Count
		}
	}
	return t
}
