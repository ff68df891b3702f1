package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Totals of a user's requests, without leases: these depend on time and not on jobs.
type Totals struct {
	Writes      int // of anything but events, rejected or not
	Events      int // requests to write an event
	Conflicts   int // answers 409 to any request
	Gets, Lists int
	Failures    int // other answers from 400 on
	CreatedPods int
}

// Audit follows an audit log and counts one user's requests. Only one goroutine may call its methods.
type Audit struct {
	file   *os.File
	reader *bufio.Reader
	user   string
	rest   []byte // the beginning of a line that is not complete yet
	totals Totals
	// The requests to create pods and services: how many succeeded, and when the first arrived and the last was answered.
	created     int
	first, last time.Time
}

// FollowAudit opens a log.
func FollowAudit(path, user string) (*Audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Audit{file: file, reader: bufio.NewReaderSize(file, 1<<20), user: user}, nil
}

// Close closes the log.
func (a *Audit) Close() error { return a.file.Close() }

// Forget drops what was counted so far.
func (a *Audit) Forget() {
	a.totals = Totals{}
	a.created = 0
	a.first = time.Time{}
	a.last = time.Time{}
}

// Totals returns what was counted.
func (a *Audit) Totals() Totals { return a.totals }

// CreationRate returns how many pods and services were created per second, from the first request to the last answer.
func (a *Audit) CreationRate() float64 {
	took := a.last.Sub(a.first).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(a.created) / took
}

// Update reads new lines and returns how many requests they have.
func (a *Audit) Update() (found int, err error) {
	for {
		line, err := a.reader.ReadBytes('\n')
		a.rest = append(a.rest, line...)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("read the audit log: %w", err)
		}
		isCounted, err := a.count(a.rest)
		a.rest = nil
		if err != nil {
			return found, err
		}
		if isCounted {
			found++
		}
	}
}

// entry is one line of the log.
type entry struct {
	Stage                    string
	Verb                     string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// count counts an entry, if it is the user's and says that a request has ended. A watch is counted when it begins: most never end.
func (a *Audit) count(line []byte) (bool, error) {
	if !bytes.Contains(line, []byte(a.user)) {
		return false, nil
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return false, fmt.Errorf("read a line of the audit log: %w", err)
	}
	stage := "ResponseComplete"
	if e.Verb == "watch" {
		stage = "ResponseStarted"
	}
	if e.User.Username != a.user || e.Stage != stage || e.ObjectRef.Resource == "" {
		return false, nil
	}
	if e.ObjectRef.Resource != "leases" {
		a.add(e)
	}
	return true, nil
}

func (a *Audit) add(e entry) {
	code := e.ResponseStatus.Code
	resource := e.ObjectRef.Resource
	switch {
	case e.Verb == "get":
		a.totals.Gets++
	case e.Verb == "list":
		a.totals.Lists++
	case e.Verb == "watch":
	case resource == "events":
		a.totals.Events++
	default:
		a.totals.Writes++
	}
	if code == 409 {
		a.totals.Conflicts++
	} else if code >= 400 {
		a.totals.Failures++
	}
	if e.Verb != "create" || code >= 300 || resource != "pods" && resource != "services" {
		return
	}
	if resource == "pods" {
		a.totals.CreatedPods++
	}
	a.created++
	if a.first.IsZero() || e.RequestReceivedTimestamp.Before(a.first) {
		a.first = e.RequestReceivedTimestamp
	}
	if e.StageTimestamp.After(a.last) {
		a.last = e.StageTimestamp
	}
}
