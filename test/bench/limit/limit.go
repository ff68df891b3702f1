package limit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"stoic/test/bench/wire"
	"stoic/training"
	"stoic/training/kinds"
)

const (
	jobsAtOnce     = 8
	requestsAtOnce = 16
)

// client is the bare client.
type client struct {
	api   *wire.Client
	log   io.Writer
	slots chan struct{}

	mu   sync.Mutex
	jobs map[string]*job // by namespace/name
}

// Run serves all namespaces until the context ends.
func Run(ctx context.Context, config *rest.Config, log io.Writer) error {
	api, err := wire.Dial(config)
	if err != nil {
		return err
	}
	c := &client{api: api, log: log, slots: make(chan struct{}, jobsAtOnce), jobs: map[string]*job{}}
	group, ctx := errgroup.WithContext(ctx)
	ours := url.Values{"labelSelector": {training.LabelOperator + "=" + kinds.TFJob().Controller}}
	group.Go(func() error {
		return wire.Watch(ctx, api, wire.CorePath("", "pods"), ours, false, func(event string, p *wire.Pod) { c.pod(ctx, event, p) })
	})
	group.Go(func() error {
		return wire.Watch(ctx, api, wire.JobsPath(""), nil, false, func(event string, j *wire.Job) { c.job(ctx, event, j) })
	})
	return group.Wait()
}

// job records a job, or its end.
func (c *client) job(ctx context.Context, event string, seen *wire.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := seen.Metadata.Key()
	known := c.jobs[key]
	switch {
	case event == wire.Synced:
	case event == "DELETED" || seen.Metadata.DeletionTimestamp != nil:
		if known != nil && known.meta.UID == seen.Metadata.UID {
			delete(c.jobs, key)
		}
	case known != nil && known.meta.UID == seen.Metadata.UID || seen.Status.CompletionTime != "":
	default:
		if j := read(seen); j != nil {
			c.jobs[key] = j
			go c.begin(ctx, j)
		}
	}
}

// begin creates the children of a job.
func (c *client) begin(ctx context.Context, j *job) {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	var group errgroup.Group
	group.SetLimit(requestsAtOnce)
	for i := range j.replicas {
		r := &j.replicas[i]
		group.Go(func() error { return c.post(ctx, j, "services", j.service(r)) })
		group.Go(func() error { return c.post(ctx, j, "pods", j.pod(r)) })
	}
	c.say(group.Wait())
}

func (c *client) post(ctx context.Context, j *job, plural string, body []byte) error {
	return c.api.Send(ctx, http.MethodPost, wire.CorePath(j.meta.Namespace, plural), wire.JSON, body, nil)
}

// pod records a pod and acts on it.
func (c *client) pod(ctx context.Context, event string, p *wire.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[p.Metadata.Namespace+"/"+p.Metadata.Labels[training.LabelJob]]
	if j == nil {
		return
	}
	r := j.named(p.Metadata.Name)
	if r == nil || j.over {
		return
	}
	if event == "DELETED" {
		// The client deleted it to replace it, or another client deleted it: it must be recreated either way.
		r.phase = ""
		go func() { c.say(c.post(ctx, j, "pods", j.pod(r))) }()
		return
	}
	if r.phase == p.Status.Phase || p.Metadata.DeletionTimestamp != nil {
		return
	}
	r.phase = p.Status.Phase
	switch next := j.next(r, p); next {
	case nothing:
	case replace:
		go func() { c.say(c.remove(ctx, j, r.name)) }()
	default:
		body := j.status(next)
		go func() { c.say(c.record(ctx, j, body)) }()
	}
}

func (c *client) remove(ctx context.Context, j *job, pod string) error {
	return c.api.Send(ctx, http.MethodDelete, wire.CorePath(j.meta.Namespace, "pods")+"/"+pod, wire.JSON, nil, nil)
}

// record writes a status; those of one job are written one after the other.
func (c *client) record(ctx context.Context, j *job, body []byte) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	path := wire.JobsPath(j.meta.Namespace) + "/" + j.meta.Name + "/status"
	return c.api.Send(ctx, http.MethodPatch, path, wire.MergePatch, body, nil)
}

// say logs an error; it is not handled. Jobs are deleted while the client works on them.
func (c *client) say(err error) {
	if err != nil && !wire.IsStatus(err, http.StatusNotFound) && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(c.log, time.Now().Format(time.RFC3339), err)
	}
}
