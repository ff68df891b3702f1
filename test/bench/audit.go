package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// request is a request that has been answered, as a line of the API server's audit log says. A watch counts when it begins, because
// most never end.
type request struct {
	Stage                    string
	Verb                     string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// creates reports whether the request has created an object of one of these resources.
func (r request) creates(resources ...string) bool {
	return r.Verb == "create" && r.ResponseStatus.Code < 300 && r.ObjectRef.Subresource == "" && slices.Contains(resources, r.ObjectRef.Resource)
}

// audit reads an audit log as it grows.
type audit struct {
	file   *os.File
	reader *bufio.Reader
	rest   []byte // the beginning of a line that is not complete yet
}

func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &audit{file: file, reader: bufio.NewReaderSize(file, 1<<20)}, nil
}

// read returns the requests for resources that the log has got since the last call. Leases are left out: they depend on time and not on jobs.
func (a *audit) read() (found []request, err error) {
	for {
		line, err := a.reader.ReadBytes('\n')
		a.rest = append(a.rest, line...)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("read the audit log: %w", err)
		}
		var r request
		err = json.Unmarshal(a.rest, &r)
		a.rest = nil
		if err != nil {
			return found, fmt.Errorf("read a line of the audit log: %w", err)
		}
		stage := "ResponseComplete"
		if r.Verb == "watch" {
			stage = "ResponseStarted"
		}
		if r.Stage == stage && r.ObjectRef.Resource != "" && r.ObjectRef.Resource != "leases" {
			found = append(found, r)
		}
	}
}

// count returns what the requests of a user cost for each of so many jobs, and how long the creation of their pods took.
func count(requests []request, user string, jobs int) map[string]float64 {
	values := map[string]float64{writes: 0, events: 0, conflicts: 0, gets: 0}
	asked := map[string]time.Time{}   // when the creation of a job was requested
	created := map[string]time.Time{} // when the last pod of a job was created
	dependents := 0
	var first, last time.Time
	for _, r := range requests {
		if r.User.Username != user {
			if r.creates("tfjobs") && r.ObjectRef.Namespace == measured {
				asked[r.ObjectRef.Name] = r.RequestReceivedTimestamp
			}
			continue
		}
		switch {
		case r.Verb == "get":
			values[gets]++
		case r.Verb == "list", r.Verb == "watch":
		case r.ObjectRef.Resource == "events":
			values[events]++
		default:
			values[writes]++
		}
		if r.ResponseStatus.Code == 409 {
			values[conflicts]++
		}
		if !r.creates("pods", "services") {
			continue
		}
		dependents++
		if first.IsZero() || r.RequestReceivedTimestamp.Before(first) {
			first = r.RequestReceivedTimestamp
		}
		if r.StageTimestamp.After(last) {
			last = r.StageTimestamp
		}
		if job := jobOfPod(r.ObjectRef.Name); r.creates("pods") && r.StageTimestamp.After(created[job]) {
			created[job] = r.StageTimestamp
		}
	}
	values[writes] /= float64(jobs)
	values[events] /= float64(jobs)
	if took := last.Sub(first).Seconds(); took > 0 {
		values[rate] = float64(dependents) / took
	}
	var times []time.Duration
	for job, at := range asked {
		if !created[job].IsZero() {
			times = append(times, created[job].Sub(at))
		}
	}
	if len(times) > 0 {
		slices.Sort(times)
		values[createdP50] = times[len(times)/2].Seconds()
		values[createdP99] = times[len(times)*99/100].Seconds()
	}
	return values
}

// jobOfPod returns the name of the job of the pod NAME-TYPE-INDEX.
func jobOfPod(pod string) string {
	words := strings.Split(pod, "-")
	return strings.Join(words[:max(len(words)-2, 0)], "-")
}
