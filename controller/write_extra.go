package controller

import (
	"context"
	"errors"
	"time"

	"stoic/controller/plan"
	"stoic/schema"
)

// isExtra: neither a job of the kind nor a pod nor a service.
func isExtra(kind *schema.Kind, r schema.Resource) bool {
	return r != schema.Pods() && r != schema.Services() && r != kind.Resource()
}

// apart splits what is to be made, in order, into extra objects and pods and services.
func apart(objects []schema.Object) (extras, children []schema.Object) {
	for i, o := range objects {
		if o.Resource == schema.Pods() || o.Resource == schema.Services() {
			return objects[:i], objects[i:]
		}
	}
	return objects, nil
}

// createExtras posts extra objects and returns how many, and when to look again. One that is refused for good is not posted
// again for a while, unless the job was changed.
func (l *kindLoop) createExtras(ctx context.Context, head *schema.Head, objects []schema.Object) (tried int, again time.Duration, _ error) {
	var failed []error
	for _, o := range objects {
		e, asked := l.extra(o.Resource), occasion(head)+string(o.Body)
		if wait, wake := e.spare(head.Meta.UID, asked, l.options.Now()); wait > 0 {
			again = earlier(again, wake)
			continue
		}
		err := l.create(ctx, head, []schema.Object{o})
		e.note(head.Meta.UID, asked, err, true, l.options.Now())
		failed = append(failed, err)
		tried++
	}
	return tried, again, errors.Join(failed...)
}

// update changes extra objects, and says when to look again. An update that is refused for good, or that the API server takes
// and changes nothing for (a schema drops what we want), is not sent again for a while, unless the object has changed.
func (l *kindLoop) update(ctx context.Context, head *schema.Head, updates []plan.Update) (again time.Duration, _ error) {
	var failed []error
	for _, u := range updates {
		e, asked := l.extra(u.Resource), u.ResourceVersion+string(u.Patch)
		if wait, wake := e.spare(u.UID, asked, l.options.Now()); wait > 0 {
			again = earlier(again, wake)
			continue
		}
		got, err := l.api.merge(ctx, u.Resource, u.Namespace, u.Name, u.Patch)
		if err != nil {
			err = &writeError{"update", u.Resource, u.Name, err}
			failed = append(failed, err)
		} else {
			l.raise(head, u.Resource, got)
		}
		e.note(u.UID, asked, err, got.ResourceVersion != u.ResourceVersion, l.options.Now())
	}
	if told := firstWorthTelling(failed); told != nil {
		l.emitter.tell(head, []plan.Event{refusal(head.Kind, "updating", told, occasion(head))})
	}
	return again, errors.Join(failed...)
}

// extra is the watch of a resource that the kind names.
func (l *kindLoop) extra(r schema.Resource) *extraWatch {
	for _, e := range l.extras {
		if e.resource == r {
			return e
		}
	}
	return &extraWatch{} // a planner that updates what its kind does not name; nothing is remembered of it
}

// adopt labels an extra object of this very job, so that it is seen.
func (l *kindLoop) adopt(ctx context.Context, head *schema.Head, o schema.Object, got written) error {
	patch := schema.JSON(map[string]any{"metadata": map[string]any{"uid": got.UID, "resourceVersion": got.ResourceVersion,
		"labels": map[string]string{schema.LabelOperator: head.Kind.Controller, schema.LabelJob: head.Meta.Name}}})
	got, err := l.api.merge(ctx, o.Resource, o.Namespace, o.Name, patch)
	if err != nil {
		return &writeError{"update", o.Resource, o.Name, err}
	}
	l.raise(head, o.Resource, got)
	return nil
}
